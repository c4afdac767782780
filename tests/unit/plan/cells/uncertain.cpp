// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cells/uncertain.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("bars of sums add up, and a sum is as sure as its least sure part") {
  constexpr uncertain a{10, 1, provenance::measured}, b{4, 2, provenance::modelled};
  constexpr uncertain sum = a + 2 * b;
  static_assert(sum == uncertain{18, 5, provenance::modelled});
  static_assert(sum.lower() == 13 && sum.upper() == 23);
  static_assert(uncertain{1, 2}.lower() == 0);
  static_assert(uncertain{0, 2}.relative_bar() == 0 && b.relative_bar() == 0.5);
  CHECK(name_of(provenance::measured) == "measured");
  CHECK(name_of(provenance::extrapolated) == "extrapolated");
}
