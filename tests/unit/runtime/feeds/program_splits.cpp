// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/feeds/program_splits.hpp>

#include <motet/schedule/core/compose.hpp>
#include <motet/schedule/place/placed.hpp>
#include <motet/schedule/write/gpipe.hpp>

#include <doctest/doctest.h>

using namespace motet;
using counts = list<motet::isize>;

namespace {

// Module 0: two replicas of two shards, two microbatches in a group; module 1: three replicas, one
// microbatch. Two groups.
program towers() {
  const score one = joined(beside(gpipe::write({1, 4}), gpipe::write({1, 2})), 2);
  return compile(placed(
      one, {{2, 2}, {3, 1}}, 4,
      [](std::int32_t v, std::int32_t r, std::int32_t k, std::int32_t) { return v == 0 ? 2 * r + k : r; }));
}

}  // namespace

TEST_CASE("a program tells how its samples are cut") {
  const list<sample_split> splits = splits_of(towers(), 24);
  REQUIRE(splits.size() == 2);
  CHECK(splits[0].samples == 24);
  CHECK(splits[0].groups == 2);
  CHECK(splits[0].replicas == 2);
  CHECK(splits[0].microbatches == 2);
  CHECK(splits[1].replicas == 3);
  CHECK(splits[1].microbatches == 1);
  CHECK(splits[1].bounds.empty());
  CHECK(most_of(splits, {}) == counts{6, 4});
  CHECK(most_of(splits, {.most = 1.5}) == counts{9, 6});
}

TEST_CASE("a join's layout follows the shares, and the largest one covers any of them") {
  const program of = towers();
  const stage_groups groups(of, {2, 1});
  const resplit_options room{.most = 1.5};
  list<sample_split> splits = splits_of(of, 24);
  const join_layout most = largest_layout_of(of, groups, splits, most_of(splits, room));
  CHECK(!most.exact());
  REQUIRE(most.size() == 4);
  for (motet::isize a = 3; a <= 9; ++a)
    for (motet::isize b = 1; b <= 6; ++b)
      for (motet::isize c = 1; c <= 6; ++c) {
        if (b + c < 6 || b + c > 11) continue;
        splits[0] = splits_of(of, 24)[0].weighted({a, 12 - a}, 9);
        splits[1] = splits_of(of, 24)[1].weighted({b, c, 12 - b - c}, 6);
        const join_layout now = layout_of(of, groups, splits);
        CHECK(now.exact());
        CHECK(now.rows(0, 0) + now.rows(1, 0) == a);
        CHECK(now.rows(1, 1) == c);
        for (motet::isize m = 0; m < 4; ++m)
          for (std::size_t k = 0; k < 2; ++k) {
            CHECK(now.rows(m, k) <= most.rows(m, k));
            CHECK(now.holds(m, k) == most.holds(m, k));
          }
      }
  // No more than needed: shards have half of nine, replicas six.
  CHECK(most.rows(0, 0) == 5);  // microbatches of 5 and 4: 3 and 2
  CHECK(most.rows(1, 0) == 4);
  CHECK(most.rows(2, 1) == 6);
  CHECK(most.rows(3, 1) == 0);
}
