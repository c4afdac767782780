// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <doctest/doctest.h>
#include <motet/backend/cuda/products/gemm_matrix_kernel.hpp>

#include "laws/cuda_run.hpp"
#include "laws/grid.hpp"

namespace motet {
using laws::grid, laws::distance, laws::on_gpu;

namespace {

template <bool ATransposed, bool BTransposed>
void check_product(isize m, isize n, isize k, isize gap) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const auto a = ATransposed ? grid<bf16>(k, m, gap).random(1) : grid<bf16>(m, k, gap).random(1);
  const auto b = BTransposed ? grid<bf16>(n, k, gap).random(2) : grid<bf16>(k, n, gap).random(2);
  const auto bias = grid<float>(1, n).random(3), before = grid<float>(m, n, gap).random(4);
  const on_gpu<bf16> a_(a), b_(b);
  const on_gpu<float> bias_(bias), out_(before);
  const motet::cuda::gemm_operand<bf16> left{a_.data(), a.stride, ATransposed},
      right{b_.data(), b.stride, BTransposed};
  const motet::cuda::gemm_epilogue<float> epilogue{.bias = bias_.data(), .accumulate = true};
  REQUIRE(motet::cuda::fits_matrix_tiles(left, right, m, n, k, out_.data(), before.stride, epilogue));
  motet::cuda::multiply_matrix_tiled<ATransposed, BTransposed>(
      laws::gpu().stream(), motet::cuda::detail::whole_product{m, k}, n, left, right, 0, out_.data(),
      before.stride, 0, epilogue);
  grid<double> want(m, n);
  for (isize i = 0; i < m; ++i)
    for (isize j = 0; j < n; ++j) {
      want.at(i, j) = bias(0, j) + before(i, j);
      for (isize l = 0; l < k; ++l)
        want.at(i, j) += (ATransposed ? a(l, i) : a(i, l)) * (BTransposed ? b(j, l) : b(l, j));
    }
  CHECK(distance(out_.back(), want) < 2e-5);  // products of bf16 are exact in fp32
  CHECK(out_.untouched());
}

}  // namespace

TEST_CASE("tensor-core products, whichever way the operands lie") {
  check_product<false, true>(5, 8, 8, 0);
  check_product<false, false>(70, 136, 40, 8);
  check_product<true, false>(136, 72, 75, 0);  // the product's length is free where no row runs along it
  check_product<true, true>(16, 24, 120, 8);
  check_product<false, true>(129, 16, 96, 16);
}

TEST_CASE("what does not lie in packs is refused") {
  const on_gpu<bf16> a(16, 16), b(16, 16);
  const on_gpu<float> out(16, 16);
  const motet::cuda::gemm_epilogue<float> none{};
  const auto fits = [&](motet::cuda::gemm_operand<bf16> left, motet::cuda::gemm_operand<bf16> right, isize m,
                        isize n, isize k, const float* to) {
    return motet::cuda::fits_matrix_tiles(left, right, m, n, k, to, 16, none);
  };
  CHECK(fits({a.data(), 16, false}, {b.data(), 16, true}, 3, 8, 16, out.data()));
  CHECK(!fits({a.data(), 16, false}, {b.data(), 16, true}, 3, 8, 12, out.data()));
  CHECK(!fits({a.data(), 16, false}, {b.data(), 16, true}, 3, 9, 16, out.data()));
  CHECK(!fits({a.data() + 1, 16, false}, {b.data(), 16, true}, 3, 8, 16, out.data()));
  CHECK(!fits({a.data(), 16, false}, {b.data(), 15, true}, 3, 8, 16, out.data()));
  CHECK(!fits({a.data(), 16, true}, {b.data(), 16, false}, 3, 8, 5, out.data()));
  CHECK(!fits({a.data(), 16, false}, {b.data(), 16, true}, 3, 8, 16, out.data() + 1));
}

}  // namespace motet
