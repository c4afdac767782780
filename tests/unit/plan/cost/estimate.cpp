// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/estimate.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the bytes of a rank add up") {
  CHECK(rank_bytes{1, 2, 4, 8, 16}.total() == 31);
  CHECK(rank_bytes{}.total() == 0);
}

TEST_CASE("steps are played as the runtime runs them") {
  constexpr estimate_options play;
  static_assert(play.sums_overlap && play.fold && !play.exchange_gradients && play.measured == nullptr);
}
