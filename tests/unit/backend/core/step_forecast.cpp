// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/core/step_forecast.hpp>

#include <doctest/doctest.h>

TEST_CASE("room for two, one at a time") {
  motet::step_forecast one{.memory = 10, .scratch = 3}, two{.memory = 7, .scratch = 5};
  one.cover(two);
  CHECK(one.memory == 10);
  CHECK(one.scratch == 5);
}
