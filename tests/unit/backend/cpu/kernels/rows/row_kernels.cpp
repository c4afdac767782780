// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>

#include <vector>

namespace {

using motet::isize;
using motet::matrix;
using namespace motet::cpu;

std::vector<float> numbers(isize count, float first) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = first + 0.25f * static_cast<float>(i % 37);
  return out;
}

TEST_CASE("column sums add over any number of rows, strided, for every tail of a vector") {
  for (const isize rows : {0, 1, 7, 8, 9, 20})
    for (const isize width : {1, 3, 8, 16, 17, 50}) {
      auto data = numbers(rows * (width + 2) + 1, 1);
      const matrix<float> x{data.data(), rows, width, width + 2};
      std::vector<float> sums(static_cast<std::size_t>(width), 2.0f);
      sum_columns(x, sums.data());
      for (isize j = 0; j < width; ++j) {
        double want = 2;
        for (isize r = 0; r < rows; ++r) want += static_cast<double>(x.row(r)[j]);
        CHECK(static_cast<double>(sums[static_cast<std::size_t>(j)]) == doctest::Approx(want).epsilon(1e-6));
      }
    }
}

TEST_CASE("rows are converted, summed and cleared, and gaps between them stay") {
  const isize rows = 3, width = 19, stride = 21;
  auto from = numbers(rows * stride, -2);
  std::vector<motet::bf16> half(static_cast<std::size_t>(rows * stride), motet::bf16(7.0f));
  const matrix<float> x{from.data(), rows, width, stride};
  const matrix<motet::bf16> y{half.data(), rows, width, stride};
  convert_rows(x, y, 2.0);
  std::vector<float> total(static_cast<std::size_t>(rows * stride), 9.0f);
  const matrix<float> z{total.data(), rows, width, stride};
  sum_rows(x, y, z);
  for (isize r = 0; r < rows; ++r) {
    for (isize c = 0; c < width; ++c) {
      CHECK(float(y.row(r)[c]) == float(motet::bf16(2 * x.row(r)[c])));
      CHECK(z.row(r)[c] == x.row(r)[c] + float(y.row(r)[c]));
    }
    CHECK(float(y.row(r)[width]) == 7.0f);
    CHECK(z.row(r)[width] == 9.0f);
  }
  clear_rows(part_of(z, {1, 2}));
  CHECK(z.row(0)[0] != 0);
  CHECK(z.row(1)[width - 1] == 0);
  CHECK(z.row(1)[width] == 9.0f);
}

}  // namespace
