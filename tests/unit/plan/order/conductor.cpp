// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/conductor.hpp>

#include "unit/plan/order/three_scores.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the identity plays the plan's own score") {
  const three_scores of;
  const step_headers even = bringing({1, 1, 1, 1, 1, 1});
  for (const std::int32_t playing : {0, 1, 2}) CHECK(as_planned()({of.scores, even, playing}) == 0);
}

TEST_CASE("another score takes its turn where it is shorter by more than the margin") {
  const three_scores of;
  const step_headers even = bringing({1, 1, 1, 1, 1, 1});
  CHECK(shortest_by_simulation{.margin = 0.1}({of.scores, even, 0}) == 2);
  CHECK(shortest_by_simulation{.margin = 0.2}({of.scores, even, 0}) == 0);
  // As long is not shorter.
  CHECK(shortest_by_simulation{.margin = 0.2}({of.scores, even, 1}) == 1);
  CHECK(shortest_by_simulation{.margin = 0}({of.scores, even, 2}) == 2);
}
