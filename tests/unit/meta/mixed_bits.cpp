// SPDX-License-Identifier: Apache-2.0
#include <motet/meta/mixed_bits.hpp>

#include <doctest/doctest.h>

#include <bit>

using namespace motet;

// The first numbers that the published generator draws from the seed 1234567.
static_assert(mixed_bits(1234567 + golden_step) == 6457827717110365317u);
static_assert(mixed_bits(1234567 + 2 * golden_step) == 3203168211198807973u);
static_assert(mixed_bits(1234567 + 3 * golden_step) == 9817491932198370423u);

TEST_CASE("a bit more or less changes half of the bits") {
  for (int bit = 0; bit < 64; ++bit) {
    int changed = 0;
    for (std::uint64_t i = 1; i <= 200; ++i)
      changed += std::popcount(mixed_bits(i * golden_step) ^
                               mixed_bits((i * golden_step) ^ (std::uint64_t{1} << bit)));
    CHECK(changed > 200 * 30);
    CHECK(changed < 200 * 34);
  }
}
