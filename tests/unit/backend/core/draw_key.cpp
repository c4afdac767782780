// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/core/draw_key.hpp>

TEST_CASE("draws begin at the first row of the first step, and drop") {
  const motet::draw_key key;
  CHECK(key.seed == 0);
  CHECK(key.step == 0);
  CHECK(key.first_row == 0);
  CHECK(key.dropout);
}
