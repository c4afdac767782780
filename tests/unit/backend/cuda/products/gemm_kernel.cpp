// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <doctest/doctest.h>
#include <motet/backend/cuda/products/gemm_kernel.hpp>

#include "laws/cuda_run.hpp"
#include "laws/grid.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance, laws::on_gpu, laws::flat_on_gpu;

namespace {

// out = a b + bias + out, with each operand as it is or transposed.
template <class A, class B, class Out, class Sum>
void check_product(isize m, isize n, isize k, bool a_transposed, bool b_transposed, isize gap) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const auto a = a_transposed ? grid<A>(k, m, gap).random(1) : grid<A>(m, k, gap).random(1);
  const auto b = b_transposed ? grid<B>(n, k, gap).random(2) : grid<B>(k, n, gap).random(2);
  const auto bias = grid<Sum>(1, n).random(3);
  const auto before = grid<Out>(m, n, gap).random(4);
  const on_gpu<A> a_(a);
  const on_gpu<B> b_(b);
  const on_gpu<Sum> bias_(bias);
  const on_gpu<Out> out_(before);
  motet::cuda::detail::multiply_own(
      laws::gpu().stream(), m, n, k, motet::cuda::gemm_operand<A>{a_.data(), a.stride, a_transposed},
      motet::cuda::gemm_operand<B>{b_.data(), b.stride, b_transposed}, out_.data(), before.stride,
      motet::cuda::gemm_epilogue<Sum>{.bias = bias_.data(), .accumulate = true});
  grid<double> want(m, n);
  for (isize i = 0; i < m; ++i)
    for (isize j = 0; j < n; ++j) {
      want.at(i, j) = bias(0, j) + before(i, j);
      for (isize l = 0; l < k; ++l)
        want.at(i, j) += (a_transposed ? a(l, i) : a(i, l)) * (b_transposed ? b(j, l) : b(l, j));
    }
  CHECK(distance(out_.back(), want) < tolerance<Out>);
  CHECK(out_.untouched());
}

}  // namespace

TEST_CASE("our own product takes every type, stride and direction") {
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      check_product<float, float, float, float>(5, 7, 3, a, b, 1);
      check_product<float, float, float, float>(65, 130, 33, a, b, 0);
      check_product<bf16, float, float, float>(70, 9, 17, a, b, 3);
      check_product<bf16, bf16, bf16, float>(1, 66, 40, a, b, 2);
      check_product<double, double, double, double>(19, 64, 16, a, b, 5);
    }
  check_product<float, float, float, float>(5, 7, 0, false, false, 1);
}

TEST_CASE("tiles of groups cover each row of each group once") {
  const std::vector<isize> starts{0, 3, 3, 70, 71, 71, 200};
  for (const int side : {64, 128}) {
    const motet::cuda::grouped_rows rows{starts.data(), 6, 230, 8};
    std::vector<int> met(230);
    for (isize tile = 0; tile < rows.row_tiles(side); ++tile) {
      motet::cuda::detail::tile_share own;
      if (!rows.find(tile, side, own)) continue;
      CHECK(own.end > own.begin);
      CHECK(own.begin >= starts[static_cast<std::size_t>(own.group)]);
      CHECK(own.end <= starts[static_cast<std::size_t>(own.group) + 1]);
      for (isize r = own.begin; r < own.end; ++r) ++met[static_cast<std::size_t>(r)];
    }
    std::vector<int> once(230);
    std::fill_n(once.begin(), 200, 1);
    CHECK(laws::off_by(met, once) == 0);
  }
}

}  // namespace motet
