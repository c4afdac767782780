// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/feeds/join_layout.hpp>

#include <doctest/doctest.h>

using namespace motet;
using numbers = std::vector<motet::isize>;

namespace {

// Module 0: rank 4 has two voices, rank 1 one; module 1: rank 4 and, without samples, rank 2.
std::vector<join_seat> seats() {
  return {{4, 0, 0, {{0, 1}, {5, 6}}},
          {4, 0, 1, {{3, 5}}},
          {1, 0, 2, {{1, 1}, {1, 3}}},
          {4, 1, 3, {{0, 6}}},
          {2, 1, 4, {{6, 6}}}};
}

}  // namespace

TEST_CASE(
    "members are the ranks with a seat, in the order of ranks, with their parts in the order of samples") {
  const join_layout layout(seats(), 6);
  CHECK(layout.samples() == 6);
  CHECK(layout.modules() == 2);
  REQUIRE(layout.size() == 3);
  CHECK(layout.member(1) == 0);
  CHECK(layout.member(2) == 1);
  CHECK(layout.member(4) == 2);
  CHECK(layout.member(0) == -1);
  const auto& last = layout[2];
  REQUIRE(last.parts.size() == 4);
  const numbers begins{0, 3, 5, 0}, voices{0, 1, 0, 3}, microbatches{0, 0, 1, 0}, rows{0, 1, 3, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(last.parts[i].samples.begin == begins[i]);
    CHECK(last.parts[i].voice == voices[i]);
    CHECK(last.parts[i].microbatch == microbatches[i]);
    CHECK(last.parts[i].row == rows[i]);
  }
  CHECK(layout.rows(2, 0) == 4);
  CHECK(layout.rows(0, 0) == 2);
  CHECK(layout.rows(0, 1) == 0);
  // A seat without samples is a seat.
  CHECK(layout.rows(1, 1) == 0);
  CHECK(layout.holds(1, 1));
  CHECK(!layout.holds(1, 0));
  CHECK(layout.first_of(0) == 0);
  CHECK(layout.first_of(1) == 1);
}

TEST_CASE("rows find their sample among the columns of another module") {
  const join_layout layout(seats(), 6);
  // Columns of module 0: samples 1, 2 of rank 1, then 0, 3, 4, 5 of rank 4. Those of module 1 are in order.
  CHECK(layout.first_row(0, 0) == 0);
  CHECK(layout.first_row(2, 0) == 2);
  CHECK(layout.first_row(2, 1) == 0);
  CHECK(layout.matches(0, 0, 1) == numbers{1, 2});
  CHECK(layout.matches(2, 0, 1) == numbers{0, 3, 4, 5});
  CHECK(layout.matches(2, 1, 0) == numbers{2, 0, 1, 3, 4, 5});
  CHECK(layout.matches(1, 1, 0).empty());
}

TEST_CASE("each sample of a module comes once, or the layout is refused") {
  const auto with = [](std::size_t seat, interval samples) {
    auto changed = seats();
    changed[seat].samples[0] = samples;
    return changed;
  };
  CHECK_THROWS_WITH_AS(join_layout(with(1, {3, 4}), 6), doctest::Contains("of module 0 come 5 of 6 samples"),
                       error);
  CHECK_THROWS_WITH_AS(join_layout(with(1, {2, 5}), 6), doctest::Contains("module 0 brings sample 2 twice"),
                       error);
  CHECK_THROWS_WITH_AS(join_layout(with(3, {0, 7}), 6),
                       doctest::Contains("module 1 brings sample 6 of 6. Cut"), error);
  CHECK(join_layout({}, 0).size() == 0);
}

TEST_CASE("a layout to count memory by has the most of each member, and no more than there is") {
  // Module 0: two of three seats on rank 1; each may have four of six samples.
  const join_layout most = join_layout::at_most(
      {{1, 0, 0, {{0, 2}, {0, 2}}}, {1, 0, 1, {{0, 4}}}, {2, 0, 2, {{0, 4}}}, {2, 1, 3, {{0, 6}}}}, 6);
  CHECK(!most.exact());
  CHECK(join_layout(seats(), 6).exact());
  REQUIRE(most.size() == 2);
  CHECK(most.rows(0, 0) == 6);
  CHECK(most.rows(1, 0) == 4);
  CHECK(most.rows(1, 1) == 6);
  CHECK(most.holds(0, 0));
  CHECK(!most.holds(0, 1));
  CHECK(most.samples() == 6);
}
