// SPDX-License-Identifier: Apache-2.0
#include <motet/tensor/thin_product.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a thin product is added, by its scale, row by row") {
  // B is (2, 2), A is (2, 3): B A = ((1 3 5) + 2 (2 4 6), 3 (1 3 5) + 4 (2 4 6)).
  const std::vector<float> b{1, 2, 3, 4}, a{1, 3, 5, 2, 4, 6};
  std::vector<float> to{100, 200, 300, 400, 500, 600};
  add_thin_product(2, 3, 2, 0.5, b.data(), a.data(), to.data());
  CHECK(to == std::vector<float>{102.5f, 205.5f, 308.5f, 405.5f, 512.5f, 619.5f});
  add_thin_product(2, 3, 0, 0.5, b.data(), a.data(), to.data());  // no rank, no change
  CHECK(to[0] == 102.5f);
}

TEST_CASE("each sum is rounded once") {
  // In fp32 one by one, 2^24 + 1 stays what it is, twice.
  const std::vector<float> b{1, 1}, a{1, 1};
  float to = 16777216.0f;
  add_thin_product(1, 1, 2, 1, b.data(), a.data(), &to);
  CHECK(to == 16777218.0f);
}
