// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/row_costs.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("whole samples cost rows and pairs, parts of them a share of that and what crosses") {
  constexpr row_costs of{.row = 2, .pair = .5, .exchanged = .25, .piece = 3, .round = 100};
  static_assert(of.whole(4) == 8 + 8);
  static_assert(of.cut(4, 2) == 8 + 1 + 3);
  static_assert(of.cut(4, 1) == 16 + 1 + 3);
  static_assert(of.whole(0) == 0 && of.cut(0, 4) == 0);
  CHECK(row_costs{}.whole(7) == 0);
}
