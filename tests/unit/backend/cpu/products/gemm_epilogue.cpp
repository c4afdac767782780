// SPDX-License-Identifier: Apache-2.0
#include "../../../../laws/activation_reference.hpp"
#include "../../../../laws/each_kernel.hpp"
#include "../../../../laws/grid.hpp"

#include <motet/backend/cpu/products/gemm_epilogue.hpp>

// gemm.cpp tries every combination through whole products; here the pieces alone.
namespace motet {
namespace {

using cpu::epilogue_mode, cpu::gemm_epilogue;
using laws::grid;

TEST_CASE("an epilogue knows when it has nothing to do") {
  gemm_epilogue<float> plain;
  CHECK(plain.is_linear());
  CHECK(plain.only_stores());
  plain.accumulate = true;
  CHECK(plain.only_stores());
  const float bias = 0;
  plain.bias = &bias;
  CHECK(plain.is_linear());
  CHECK_FALSE(plain.only_stores());
  gemm_epilogue<float, float, float, epilogue_mode::forward> forward;
  CHECK(forward.only_stores());
  forward.kind = activation::relu;
  CHECK_FALSE(forward.is_linear());
  const gemm_epilogue<float, float, float, epilogue_mode::backward> backward;
  CHECK_FALSE(backward.is_linear());
}

TEST_CASE("rows are finished in place or elsewhere, at their row and column of every matrix") {
  laws::with_each_kernel([] {
    const isize rows = 3, columns = 21, row = 2, column = 5;
    for (const bool in_place : {false, true}) {
      grid<float> out(row + rows, column + columns, 2), pre(row + rows, column + columns, 1),
          residual(row + rows, column + columns);
      grid<float> sums(rows, columns, 4), bias(1, column + columns);
      out.fill(9), residual.random(1), sums.random(2), bias.random(3), pre.fill(8);
      grid<double> want(row + rows, column + columns), want_pre(row + rows, column + columns);
      want.fill(9), want_pre.fill(8);
      for (isize i = 0; i < rows; ++i) {
        for (isize j = 0; j < columns; ++j) {
          const double v = sums(i, j) + bias(0, column + j);
          want_pre.at(row + i, column + j) = v;
          want.at(row + i, column + j) =
              laws::activation_reference(activation::gelu, v) + residual(row + i, column + j);
          if (in_place) out.at(row + i, column + j) = sums.at(i, j);
        }
      }
      gemm_epilogue<float, float, float, epilogue_mode::forward> epilogue;
      epilogue.bias = bias.data.data();
      epilogue.kind = activation::gelu;
      epilogue.pre = pre.data.data(), epilogue.pre_stride = pre.stride;
      epilogue.residual = residual.data.data(), epilogue.residual_stride = residual.stride;
      float* from = in_place ? &out.at(row, column) : sums.data.data();
      const isize from_row = in_place ? out.stride : sums.stride;
      MOTET_SIMD_DISPATCH(
          , finish_rows(epilogue, from, from_row, row, rows, column, columns, out.data.data(), out.stride));
      CHECK(laws::distance(out, want) < 1e-6);
      CHECK(laws::distance(pre, want_pre) < 1e-6);
      CHECK(out.gaps_intact());
      CHECK(pre.gaps_intact());
    }
  });
}

}  // namespace
}  // namespace motet
