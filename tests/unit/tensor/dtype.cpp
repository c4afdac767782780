// SPDX-License-Identifier: Apache-2.0
#include <motet/tensor/dtype.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

static_assert(sizeof(motet::bf16) == 2);
static_assert(static_cast<float>(motet::bf16(1.0f)) == 1.0f);
static_assert(motet::bf16(-2.5f).bits == 0xc020);
static_assert(motet::dtype_of<float> == motet::dtype::f32 &&
              motet::dtype_of<motet::bf16> == motet::dtype::bf16);
static_assert(motet::dtype_bytes(motet::dtype_of<double>) == sizeof(double) &&
              motet::dtype_bytes(motet::dtype_of<motet::bf16>) == sizeof(motet::bf16));
static_assert(motet::dtype_bytes(motet::dtype::f8_e4m3) == 1 && motet::dtype_bytes(motet::dtype::i64) == 8);

TEST_CASE("every bf16 survives the way to float and back") {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    motet::bf16 value;
    value.bits = static_cast<std::uint16_t>(bits);
    const float wide = value;
    if (std::isnan(wide)) CHECK(std::isnan(static_cast<float>(motet::bf16(wide))));
    else CHECK_EQ(motet::bf16(wide).bits, value.bits);
  }
}

TEST_CASE("rounding takes the nearer neighbour, and the even one half-way") {
  for (std::uint32_t upper = 0x3f00; upper < 0x4100; ++upper) {
    const std::uint32_t base = upper << 16;
    CHECK_EQ(motet::bf16(std::bit_cast<float>(base + 0x7fffu)).bits, upper);
    CHECK_EQ(motet::bf16(std::bit_cast<float>(base + 0x8000u)).bits, upper + (upper & 1u));
    CHECK_EQ(motet::bf16(std::bit_cast<float>(base + 0x8001u)).bits, upper + 1);
  }
}

TEST_CASE("numbers that are not finite keep their kind and sign") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK_EQ(static_cast<float>(motet::bf16(infinity)), infinity);
  CHECK_EQ(static_cast<float>(motet::bf16(-infinity)), -infinity);
  // Beyond the largest bf16 the nearest value is infinity.
  CHECK_EQ(static_cast<float>(motet::bf16(std::numeric_limits<float>::max())), infinity);
  // A NaN whose payload lies in the lower half must not become an infinity.
  const float low_nan = std::bit_cast<float>(0xff800001u);
  CHECK(std::isnan(static_cast<float>(motet::bf16(low_nan))));
  CHECK(std::signbit(static_cast<float>(motet::bf16(low_nan))));
}
