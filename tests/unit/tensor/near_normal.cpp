// SPDX-License-Identifier: Apache-2.0
#include <motet/tensor/near_normal.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using motet::near_normal, motet::normal_near, motet::random_stream;

namespace {

// The library's, of the same words.
double reference(std::uint32_t a, std::uint32_t b) {
  const double u = (static_cast<double>(a) + 1.0) * 0x1p-32, v = static_cast<double>(b) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586476925 * v);
}

}  // namespace

TEST_CASE("what is certain is what the library rounds to, and the doubt is well above the distance") {
  const random_stream words(3, "words");
  double worst = 0;
  int doubtful = 0;
  const auto look = [&](std::uint32_t a, std::uint32_t b) {
    const near_normal found = normal_near(a, b);
    const double want = reference(a, b);
    const double off = std::abs(found.value - want) / found.doubt;
    if (!(off <= worst)) worst = std::isnan(off) ? INFINITY : off;
    if (!found.certain()) {
      ++doubtful;
    } else if (__builtin_bit_cast(std::uint32_t, static_cast<float>(found.value)) !=
               __builtin_bit_cast(std::uint32_t, static_cast<float>(want))) {
      FAIL("words " << a << " and " << b << ": " << found.value << " is certain, the library has " << want);
    }
  };
  for (std::uint64_t i = 0; i < 400000; ++i) look(words.word(2 * i), words.word(2 * i + 1));
  MESSAGE("largest distance: ", worst, " of the doubt");
  CHECK(worst < 0.6);
  CHECK(doubtful <= 8);
  // Words are tried around every eighth of a turn, by every size of logarithm: next to one, next to zero,
  // next to each power of two.
  for (std::uint32_t eighth = 0; eighth < 8; ++eighth)
    for (std::uint32_t near = 0; near < 40; ++near) {
      const std::uint32_t b = (eighth << 29) + near - 20;
      for (std::uint32_t power = 0; power < 32; ++power)
        for (const std::uint32_t a : {(1u << power) - 2, (1u << power) - 1, 1u << power, 0u - (1u << power),
                                      (0xb504f333u >> (31 - power)) + near - 20})
          look(a, b);
    }
  CHECK(worst < 0.6);
}

TEST_CASE("what cannot be told from its neighbour is in doubt") {
  // A quarter of a turn: the library's cosine is what the rounding of pi leaves. A logarithm of zero: the
  // sign of zero is the cosine's.
  for (const std::uint32_t quarter : {0x40000000u, 0xc0000000u})
    CHECK_FALSE(normal_near(7, quarter).certain());
  CHECK_FALSE(normal_near(0xffffffffu, 12345).certain());
  CHECK(normal_near(7, 0).certain());
}
