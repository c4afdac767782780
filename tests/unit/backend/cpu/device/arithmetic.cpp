// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/cpu/device/arithmetic.hpp>

using motet::bf16;
using motet::cpu::detail::arithmetic;

static_assert(std::is_same_v<arithmetic<float>, float> && std::is_same_v<arithmetic<bf16, float>, float>);
static_assert(std::is_same_v<arithmetic<const bf16>, float>);
static_assert(std::is_same_v<arithmetic<float, const double>, double> &&
              std::is_same_v<arithmetic<double>, double>);

TEST_CASE("bytes and elements count what is touched, and nothing of an absent matrix") {
  float data[64];
  const motet::matrix<float> x{data, 3, 5, 8};
  CHECK(motet::cpu::detail::bytes_in(x) == 60);  // gaps between rows are not touched
  CHECK(motet::cpu::detail::elements_in(x) == 15);
  CHECK(motet::cpu::detail::bytes_in(motet::matrix<float>{}) == 0);
}
