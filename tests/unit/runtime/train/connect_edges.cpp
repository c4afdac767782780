// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/connect_edges.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/through.hpp>

#include "unit/runtime/small_fan.hpp"

#include <doctest/doctest.h>

#include <memory>

using namespace motet;

namespace {

// A stage was told these.
struct told_rows {
  struct piece {
    bool behind;
    std::int32_t microbatch;
    row_piece<told_rows> made;
  };
  std::vector<piece> pieces;
  told_rows* after = nullptr;
  void connect(told_rows& next) { after = &next; }
  void connect(bool behind, std::int32_t m, const row_piece<told_rows>& made) {
    pieces.push_back({behind, m, made});
  }
};
struct told_stage {
  struct place {
    std::int32_t rank = 0;
  };
  told_rows own;
  place where;
  told_rows& rows() { return own; }
  const place& at() const { return where; }
};
struct told_voice {
  std::int32_t voice = 0;
  struct held_one {
    std::unique_ptr<told_stage> stage;
  };
  std::vector<held_one> held;
};

// small_fan with the language model on rank 1 and all else on rank 0, each module with two microbatches.
program two_ranks() {
  through_shape of;
  for (std::int32_t k = 0; k < 5; ++k) {
    through_module made;
    made.microbatches = 2;
    made.module = k;
    made.meets = k == 4;
    made.learns = k != 3;
    made.ranks.push(k == 4 ? 1 : 0);
    of.modules.push(made);
  }
  for (const edge_ends& each : small_fan::edges)
    of.modules[static_cast<motet::isize>(each.to)].from.push(static_cast<std::int32_t>(each.from));
  return compile(write_through(of));
}

}  // namespace

TEST_CASE("each end of an edge knows the other, and which of the edges there it is") {
  const program of = two_ranks();
  const stage_groups groups(of, {1, 1, 1, 1, 1});
  const list<sample_split> splits = splits_of(of, 8);
  std::vector<told_voice> voices;
  for (std::int32_t v = 0; v < 5; ++v) {
    told_voice& own = voices.emplace_back();
    own.voice = v;
    own.held.emplace_back().stage = std::make_unique<told_stage>();
    own.held[0].stage->where.rank = v == 4 ? 1 : 0;
  }
  connect_edges(outline_of_model<small_fan>, fed_samples(of, groups, splits), of, voices);
  const auto of_voice = [&](std::size_t v) -> told_rows& { return voices[v].held[0].stage->own; };
  // The eye feeds the glue and the lens, here.
  REQUIRE_EQ(of_voice(0).pieces.size(), 4u);
  for (const auto& each : of_voice(0).pieces) {
    CHECK(each.behind);
    CHECK(each.made.here == &of_voice(each.made.door == 0 ? 1 : 2));
    CHECK_EQ(each.made.their_door, 0);
    CHECK_EQ(each.made.samples.begin, each.microbatch * 4);
    CHECK_EQ(each.made.samples.size(), 4);
  }
  // The language model is fed by the glue, the ear, which takes no gradients, and the lens, from elsewhere.
  REQUIRE_EQ(of_voice(4).pieces.size(), 6u);
  std::array<int, 3> met{};
  for (const auto& each : of_voice(4).pieces) {
    CHECK_FALSE(each.behind);
    CHECK(each.made.here == nullptr);
    CHECK_EQ(each.made.learns, each.made.door != 1);
    ++met[static_cast<std::size_t>(each.made.door)];
  }
  CHECK(met == std::array{2, 2, 2});
  for (auto& each : voices) CHECK(each.held[0].stage->own.after == nullptr);
}
