// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/core/operation_rates.hpp>

#include <doctest/doctest.h>

TEST_CASE("what is not told was not measured") {
  const motet::operation_rates found{.products = 2};
  CHECK(found.products == 2);
  CHECK(found.attention == 0);
  CHECK(found.elements == 0);
}
