// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/estimate.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the bytes of a rank add up") {
  CHECK(rank_bytes{1, 2, 4, 8, 16}.total() == 31);
  CHECK(rank_bytes{}.total() == 0);
}

TEST_CASE("usual numbers are those of single precision with two moments") {
  constexpr training_bytes usual;
  static_assert(usual.weight + usual.gradient + usual.state == 16);
  static_assert(usual.activation == 2);
  constexpr estimate_options play;
  static_assert(play.sums_overlap && play.fold && !play.exchange_gradients && play.measured == nullptr);
}
