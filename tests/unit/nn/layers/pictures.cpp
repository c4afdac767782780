// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/pictures.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("pictures with grids lie one behind the other, and their rows, too") {
  const std::vector<float> pixels(17 * 12);
  picture_grids grids(12, 1);
  for (int again = 0; again < 2; ++again) {
    grids.clear();
    grids.add(2, 5);
    grids.add(7, 1);
    const pictures both = grids.with(pixels.data());
    REQUIRE_EQ(both.samples, 2);
    CHECK(both.are_packed());
    CHECK_EQ(both.packed.each[1].at, 10 * 12 * 4);
    CHECK_EQ(both.packed.each[1].bytes(999, 12), 7 * 12 * 4);
    CHECK_EQ(both.packed.of(1), reinterpret_cast<const std::uint8_t*>(pixels.data() + 120));
    CHECK_EQ(both.rows_before(1, 999), 11);
    CHECK_EQ(both.rows_before(2, 999), 19);
    CHECK_EQ(grids.rows_of(1), 8);
  }
  grids.clear();
  CHECK_EQ(grids.with(nullptr).samples, 0);
}

TEST_CASE("squares have as many rows each") {
  const pictures squares{nullptr, 3};
  CHECK_EQ(squares.rows_before(2, 5), 10);
  CHECK_FALSE(squares.are_packed());
}
