// SPDX-License-Identifier: Apache-2.0
#include <motet/model/graph.hpp>

#include <motet/plan/describe/model_facts.hpp>

#include "unit/runtime/small_fan.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

using whole = small_fed_speech<>;
using eye_kept = small_fed_speech<true>;
using glue_alone = small_fed_speech<true, true>;

// Modules and edges in any order, the loss anywhere.
using shuffled =
    model<modules<whole::module_at<2>, whole::module_at<0>, module<"glue", projector<8, 16, 12>>>,
          loss<next_token, "talk">, edge<"glue", "talk">, edge<"eye", "glue">>;

}  // namespace

static_assert(std::is_same_v<whole::batch, std::tuple<seen_pictures, placed_tokens>>,
              "what passes rows on has no data of its own");
static_assert(std::is_same_v<shuffled::batch, std::tuple<placed_tokens, seen_pictures>>);
static_assert(whole::module_at<1>::net::most_rows == 10, "it has room for what enters the language model");
static_assert(!whole::passes[0] && !whole::passes[1] && !whole::passes[2]);
static_assert(!eye_kept::passes[0], "no gradient goes to a frozen module that nobody feeds");
static_assert(glue_alone::passes[2] && !glue_alone::passes[0], "and through one that somebody does");
static_assert(whole::meets[2] && !whole::meets[0] && !whole::meets[1]);

TEST_CASE("the flat order is that of the modules that learn, then of the others") {
  CHECK_EQ(whole::parameter_size, small_seen_speech::parameter_size);
  CHECK_EQ(whole::parameters().front().name.substr(0, 4), "eye.");
  CHECK_EQ(glue_alone::trainable_size, glue_alone::sizes[1]);
  CHECK_EQ(glue_alone::offsets[1], 0);
  CHECK_EQ(glue_alone::offsets[0], glue_alone::sizes[1]);
  for (const parameter& each : glue_alone::parameters())
    CHECK_EQ(each.offset < glue_alone::trainable_size, each.name.starts_with("glue."));
}

TEST_CASE("plans know who feeds whom") {
  const list<module_facts> facts = facts_of<glue_alone>();
  REQUIRE(has_edges(facts));
  CHECK(facts[0].from.empty());
  REQUIRE_EQ(facts[1].from.size(), 1);
  CHECK_EQ(facts[1].from[0], 0);
  CHECK_EQ(facts[2].from[0], 1);
  CHECK(facts[2].passes);
  CHECK(facts[2].meets);
  CHECK_FALSE(facts[0].meets);
  CHECK_FALSE(has_edges(facts_of<small_seen_speech>()));
}

TEST_CASE("an edge knows its number at both ends") {
  std::vector<std::array<std::size_t, 2>> found;
  for (const edge_ends& each : small_fan::edges) found.push_back({each.into, each.out_of});
  CHECK(found == std::vector<std::array<std::size_t, 2>>{{0, 0}, {0, 0}, {1, 0}, {0, 1}, {2, 0}});
  static_assert(small_fan::module_at<4>::net::sources == 3);
  static_assert(small_fan::module_at<1>::net::most_rows == 24);
  static_assert(std::is_same_v<small_fan::batch, std::tuple<seen_pictures, heard_sounds, placed_tokens>>);
  const list<module_facts> facts = facts_of<small_fan>();
  REQUIRE_EQ(facts[4].from.size(), 3);
  CHECK_EQ(facts[4].from[1], 3);
}
