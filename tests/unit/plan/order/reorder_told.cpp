// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/reorder_told.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("what all orders of a run gained is told of the steps whose costs were measured") {
  reorder_sums all;
  CHECK(all.gained() == 1);
  all.add({.listed_seconds = 500, .seconds = 100, .search_seconds = 0.5, .waited_seconds = 0.5});
  CHECK(all.gained() == 1);
  all.add({.listed_seconds = 3, .seconds = 2, .measured = true, .search_seconds = 0.25});
  all.add({.listed_seconds = 2, .seconds = 2, .measured = true, .search_seconds = 0.25});
  CHECK(all.gained() == 1.25);
  CHECK(all.steps == 3);
  CHECK(all.measured == 2);
  CHECK(all.search_seconds == 1);
  CHECK(all.waited_seconds == 0.5);
  CHECK(reorder_told{}.gained() == 1);
  CHECK(reorder_told{.listed_seconds = 6, .seconds = 4}.gained() == 1.5);
}
