// SPDX-License-Identifier: Apache-2.0
#include <motet/tensor/view.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <type_traits>
#include <vector>

using motet::matrix;
using motet::view;

static_assert(std::is_convertible_v<view<float, 4>, view<const float, 4>>);
static_assert(std::is_convertible_v<view<float, 4>, matrix<const float>>);
static_assert(!std::is_convertible_v<view<const float, 4>, view<float, 4>>);
// Widths that do not fit do not compile.
static_assert(!std::is_convertible_v<view<float, 4>, view<float, 5>>);
static_assert(!std::is_convertible_v<matrix<float>, view<float, 4>>);
static_assert(std::is_trivially_copyable_v<view<float, 4>>);

TEST_CASE("rows, columns and slices address the same memory") {
  std::vector<int> cells(6 * 8);
  std::iota(cells.begin(), cells.end(), 0);
  const view<int, 8> all(cells.data(), 6);  // (6, 8)
  CHECK_EQ(all.row(2)[3], 19);

  const matrix<int> middle = all.columns(2, 3);  // (6, 3)
  CHECK_EQ(middle.width, 3);
  CHECK_EQ(middle.row(4)[0], 4 * 8 + 2);

  const view<int, 8> lower = all.slice(4, 2);  // (2, 8)
  CHECK_EQ(lower.rows, 2);
  CHECK_EQ(lower.row(1)[7], 47);

  // Columns of a slice are a slice of the columns.
  CHECK(lower.columns(2, 3).row(1) == middle.slice(4, 2).row(1));
  lower.row(0)[0] = -1;
  CHECK_EQ(cells[32], -1);
}

TEST_CASE("a view may be narrower than the rows it lies in") {
  std::vector<float> cells(3 * 10, 0.0f);
  const view<float, 4> left(cells.data(), 3, 10);  // (3, 4)
  left.row(2)[3] = 1;
  CHECK_EQ(cells[23], 1);
  const view<const float, 4> read = left;
  CHECK_EQ(read.stride, 10);
  CHECK_EQ(read.slice(2, 1).row(0)[3], 1);
}

TEST_CASE("a view of nothing says so") {
  CHECK(!matrix<float>{});
  CHECK(!view<float, 4>{});
}
