// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/conduct_told.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("what a run's conductor did is told by score, and of measured steps what it gained") {
  conduct_sums all;
  CHECK(all.gained() == 1);
  all.add({.score = 0, .planned_seconds = 500, .seconds = 100, .search_seconds = 0.5, .waited_seconds = 0.5});
  all.add({.score = 2, .changed = true, .planned_seconds = 3, .seconds = 2, .measured = true});
  all.add({.score = 2, .planned_seconds = 2, .seconds = 2, .measured = true, .search_seconds = 0.25});
  CHECK(all.steps == 3);
  CHECK(all.measured == 2);
  CHECK(all.changes == 1);
  CHECK(all.played == list<motet::isize>{1, 0, 2});
  CHECK(all.gained() == 1.25);
  CHECK(all.search_seconds == 0.75);
  CHECK(all.waited_seconds == 0.5);
  CHECK(conduct_told{}.gained() == 1);
}
