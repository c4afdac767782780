// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/save/pipeline_checkpoint.hpp>

#include <plan_laws.hpp>
#include <unit/format/scratch.hpp>

#include "drawn_cases.hpp"

namespace {
// MOTET_TEST_CONTEXT: at most so many context parts.
plan_maker makes_plans(std::uint64_t seed, int most_ranks) {
  return {laws::seeded(seed), most_ranks, static_cast<int>(laws::asked("MOTET_TEST_CONTEXT", 3))};
}
using threads = thread_ranks<local::world, local::endpoint>;
}  // namespace

TEST_CASE("random plans equal the single rank") {
  plan_maker maker = makes_plans(1, 16);
  // MOTET_TEST_PLANS: fewer where each takes long.
  const int count = laws::so_many(static_cast<int>(laws::asked("MOTET_TEST_PLANS", 40)));
  for (int i = 0; i < count; ++i) {
    const plan drawn = maker.make();
    if (laws::in_our_half(static_cast<std::uint64_t>(i))) compare<threads>(drawn);
  }
}

TEST_CASE("a plan goes on from another one's checkpoint") {
  plan_maker maker = makes_plans(2, 12);
  for (int i = 0; i < laws::so_many(4); ++i) {
    const scratch folder;
    const int groups = 1 + i % 2;
    const plan first = maker.make(groups), second = maker.make(groups);
    // Of both numbers of losses, each sanitizer has one.
    if (laws::in_our_half(static_cast<std::uint64_t>(i / 2 + i)))
      go_on<threads>(first, second, folder.path());
  }
}
