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

namespace {

// Modules as a graph sees them: rows that leave and enter them, and what they end with.
template <isize Gives, isize Takes = 0, own_head Head = own_head::none>
struct drawn_net {
  static constexpr bool gives_rows = Gives > 0, own_loss = Head == own_head::tokens;
  static constexpr isize takes_rows = Takes, embedding = Gives > 0 ? Gives : 4;
};
template <isize Takes>
struct drawn_talk : drawn_net<0, Takes, own_head::tokens> {
  template <isize Sources>
  using with_sources = drawn_talk;
};
template <fixed_string Name, class Net, bool Frozen = false>
struct drawn {
  static constexpr std::string_view name = Name.view();
  using net = Net;
  static constexpr bool frozen = Frozen;
  static constexpr isize embedding = Net::embedding;
  static constexpr own_head head = head_of<Net>;
};

using drawn_eye = drawn<"eye", drawn_net<8>>;
using drawn_lens = drawn<"lens", drawn_net<8>>;
using drawn_glue = drawn<"glue", drawn_net<16, 8>>;
using drawn_words = drawn<"talk", drawn_talk<16>>;
using drawn_left = drawn<"left", drawn_net<0>>;
using drawn_right = drawn<"right", drawn_net<0>>;
using drawn_still = drawn<"still", drawn_net<0>, true>;
using drawn_loop = drawn<"loop", drawn_net<16, 16>>;

using ends = std::array<std::string_view, 2>;
using names_of_loss = std::vector<std::string_view>;

// What is found in a graph of these modules: the rule, the module, got and wanted.
struct told {
  broken_rule why;
  std::string_view name;
  isize got, wanted;
  bool operator==(const told&) const = default;
};
detail::loss_facts drawn_own(const names_of_loss& of, double weight = 1) {
  return {of, own_head::tokens, true, weight};
}
detail::loss_facts drawn_join(const names_of_loss& of, double weight = 1) {
  return {of, own_head::none, false, weight};
}
template <class... Modules, std::size_t Edges, std::size_t Losses>
told found_in(const std::array<ends, Edges>& edges, const std::array<detail::loss_facts, Losses>& losses) {
  const detail::graph_finding it = detail::check_graph<detail::graph_facts<Modules...>>(edges, losses);
  return {it.found.why, it.name, it.found.got, it.found.wanted};
}
template <std::size_t Edges>
told found_by_edges(const std::array<ends, Edges>& edges, const names_of_loss& asked = {"talk"}) {
  return found_in<drawn_eye, drawn_lens, drawn_glue, drawn_words>(edges, std::array{drawn_own(asked)});
}
template <std::size_t Losses>
told found_by_losses(const std::array<detail::loss_facts, Losses>& losses) {
  return found_in<drawn_eye, drawn_glue, drawn_words, drawn_left, drawn_right>(
      std::array{ends{"eye", "glue"}, ends{"glue", "talk"}}, losses);
}

}  // namespace

// The compiler asks the same function, and says no more than the first sentence of what it finds: each rule
// has a test in must_fail/model. These are all that edges can break, with the module that each is told of.
TEST_CASE("what is wrong with edges is told of the module where it is") {
  const told good{reason::none, {}, 0, 0};
  using eye_and_lens = std::array<ends, 3>;
  CHECK(found_in<drawn_eye, drawn_glue, drawn_words>(std::array{ends{"eye", "glue"}, ends{"glue", "talk"}},
                                                     std::array{drawn_own({"talk"})}) == good);
  const auto edges = [](ends first, ends second, ends third) {
    return found_by_edges(eye_and_lens{first, second, third});
  };
  const ends seen{"eye", "glue"}, said{"glue", "talk"};
  CHECK(edges(seen, said, {"lens", "nobody"}) == told{reason::unknown_module, "nobody", 0, 0});
  CHECK(edges(seen, said, {"nobody", "talk"}) == told{reason::unknown_module, "nobody", 0, 0});
  CHECK(edges(seen, said, {"talk", "glue"}) == told{reason::no_rows_to_feed, "talk", 0, 1});
  CHECK(edges(seen, said, {"lens", "eye"}) == told{reason::no_rows_to_feed, "eye", 0, 1});
  CHECK(edges(seen, said, {"lens", "talk"}) == told{reason::edge_widths_differ, "talk", 16, 8});
  CHECK(edges(seen, said, seen) == told{reason::duplicate_edge, "glue", 2, 1});
  CHECK(edges(seen, said, {"lens", "glue"}) == told{reason::edges_into_one_place, "glue", 2, 1});
  CHECK(found_by_edges(std::array<ends, 1>{said}) == told{reason::module_unused, "eye", 0, 1});
  CHECK(found_by_edges(std::array{seen, said}) == told{reason::module_unused, "lens", 0, 1});
  CHECK(found_in<drawn_glue, drawn_words>(std::array<ends, 1>{said}, std::array{drawn_own({"talk"})}) ==
        told{reason::edge_missing, "glue", 0, 1});
  CHECK(found_in<drawn_eye, drawn_eye>(std::array<ends, 0>{}, std::array{drawn_join({"eye", "eye"})}) ==
        told{reason::duplicate_module, "eye", 0, 1});
  // A language model has places for the rows of several, so the loop's may enter it beside the glue's.
  const std::array looped{seen, said, ends{"loop", "talk"}, ends{"loop", "loop"}};
  CHECK(found_in<drawn_eye, drawn_glue, drawn_words, drawn_loop>(looped, std::array{drawn_own({"talk"})}) ==
        told{reason::edges_in_a_circle, "loop", 0, 1});
}

TEST_CASE("what is wrong with losses is told of the first module that cannot be in them") {
  const auto losses = [](const detail::loss_facts& first, const detail::loss_facts& second) {
    return found_by_losses(std::array{first, second});
  };
  const names_of_loss talk{"talk"}, pair{"left", "right"}, alone{"left"}, twice{"left", "talk"}, none{"lost"},
      unlike{"left", "eye"}, both{"talk", "talk"};
  CHECK(losses(drawn_own(talk), drawn_join(pair)) == told{reason::none, {}, 0, 0});
  CHECK(losses(drawn_own(talk), drawn_join(none)) == told{reason::unknown_module, "lost", 0, 0});
  CHECK(losses(drawn_join(pair), drawn_join(pair)) == told{reason::module_in_two_losses, "left", 2, 1});
  CHECK(losses(drawn_own(both), drawn_join(pair)) == told{reason::module_in_two_losses, "talk", 2, 1});
  CHECK(losses(drawn_own(alone), drawn_join(pair)) == told{reason::loss_lacks_head, "left", 0, 1});
  CHECK(losses(drawn_join(twice), drawn_own(talk)) == told{reason::loss_lacks_head, "talk", 1, 0});
  CHECK(losses(drawn_own(talk), drawn_join(unlike)) == told{reason::join_widths_differ, "eye", 8, 4});
  CHECK(losses(drawn_own(talk), drawn_join(alone)) == told{reason::join_too_small, "left", 1, 2});
  CHECK(losses(drawn_own(talk, 0.25), drawn_join(pair, 1e9)).why == reason::none);
  for (const double weight : {0.0, -2.0, 2e9})
    CHECK(losses(drawn_own(talk, weight), drawn_join(pair)) ==
          told{reason::weight_not_positive, "talk", static_cast<isize>(weight), 1});
  const names_of_loss two{"say", "talk"}, stills{"left", "still"}, still{"still"};
  using drawn_say = drawn<"say", drawn_net<0, 0, own_head::tokens>>;
  using drawn_heard = drawn<"talk", drawn_net<0, 0, own_head::tokens>>;
  CHECK(found_in<drawn_say, drawn_heard>(std::array<ends, 0>{}, std::array{drawn_own(two)}) ==
        told{reason::own_loss_of_several, "say", 2, 1});
  // One that learns is enough.
  CHECK(found_in<drawn_left, drawn_still>(std::array<ends, 0>{}, std::array{drawn_join(stills)}).why ==
        reason::none);
  using drawn_rest = drawn<"left", drawn_net<0>, true>;
  CHECK(found_in<drawn_rest, drawn_still>(std::array<ends, 0>{}, std::array{drawn_join(stills)}) ==
        told{reason::own_loss_frozen, "left", 0, 1});
}

TEST_CASE("an edge has its number at both ends, and rows pass to who says how many there are") {
  const auto with_numbers = detail::numbered(std::array<edge_ends, 4>{{{0, 2}, {1, 2}, {0, 3}, {1, 2}}});
  std::vector<std::array<std::size_t, 2>> found;
  for (const edge_ends& each : with_numbers) found.push_back({each.into, each.out_of});
  CHECK(found == std::vector<std::array<std::size_t, 2>>{{0, 0}, {1, 0}, {0, 1}, {2, 1}});
  using facts = detail::graph_facts<drawn_eye, drawn_glue, drawn_lens, drawn_words>;
  const std::array<edge_ends, 3> path{{{0, 1}, {1, 2}, {2, 3}}};
  CHECK_EQ(detail::end_of_rows<facts>(1, path, {false, true, true, false}), 3);
  CHECK_EQ(detail::end_of_rows<facts>(1, path, {false, true, false, false}), 2);
  CHECK_EQ(detail::end_of_rows<facts>(0, path, {false, true, true, false}), 0);
  // Modules through which all passes may be a circle, which check_graph tells; the way through them ends all
  // the same.
  const std::array<edge_ends, 3> circle{{{0, 1}, {1, 2}, {2, 1}}};
  CHECK_EQ(detail::end_of_rows<facts>(1, circle, {false, true, true, false}), 1);
}
