// SPDX-License-Identifier: Apache-2.0
#include <motet/tensor/thin_product.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a thin product is added to a weight, row by row, each sum rounded once") {
  // B (2, 2), A (2, 3); 2^-24 is lost in a float beside 1 and kept in double until both halves are there.
  const std::vector<float> b{1, 1, 2, 0}, a{0x1p-24f, 1, 4, 0x1p-24f, 2, 5};
  std::vector<float> to{1, 10, 20, 30, 40, 50};
  add_thin_product(2, 3, 2, 1.0, b.data(), a.data(), to.data());
  CHECK(to == std::vector<float>{1 + 0x1p-23f, 13, 29, 30, 42, 58});
  add_thin_product(1, 3, 2, -0.5, b.data(), a.data(), to.data() + 3);
  CHECK(to == std::vector<float>{1 + 0x1p-23f, 13, 29, 30, 40.5f, 53.5f});
  add_thin_product(2, 3, 0, 1.0, b.data(), a.data(), to.data());
  CHECK(to[5] == 53.5f);
}
