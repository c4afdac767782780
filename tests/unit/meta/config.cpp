// SPDX-License-Identifier: Apache-2.0
#include <motet/meta/config.hpp>

#include <doctest/doctest.h>

#include <type_traits>

static_assert(std::is_signed_v<motet::isize> && sizeof(motet::isize) == sizeof(void*));
static_assert(motet::round_up(0, 64) == 0);
static_assert(motet::round_up(1, 64) == 64);
static_assert(motet::round_up(64, 64) == 64);
static_assert(motet::round_up(65, 64) == 128);

TEST_CASE("rounding up gives the least multiple that is not smaller") {
  for (motet::isize multiple = 1; multiple <= 17; ++multiple)
    for (motet::isize value = 0; value <= 100; ++value) {
      const motet::isize up = motet::round_up(value, multiple);
      CHECK_EQ(up % multiple, 0);
      CHECK(up >= value);
      CHECK(up - value < multiple);
    }
}
