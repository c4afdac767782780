// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <doctest/doctest.h>
#include <motet/backend/cuda/products/gemm.hpp>

#include "laws/activation_reference.hpp"
#include "laws/cuda_run.hpp"
#include "laws/grid.hpp"

namespace motet {
using laws::grid, laws::distance, laws::on_gpu, laws::flat_on_gpu;

namespace {

// out = residual + activation(a b + bias) (+ out), which no epilogue of the library is.
template <class Compute, class A, class B, class Out>
void check_all_pieces(isize m, isize n, isize k, bool library, bool accumulate, activation kind) {
  CAPTURE(m);
  CAPTURE(library);
  const auto a = grid<A>(k, m).random(1);
  const auto b = grid<B>(n, k).random(2);
  const auto bias = grid<float>(1, n).random(3), residual = grid<float>(m, n).random(4);
  const auto before = grid<Out>(m, n).random(5);
  const on_gpu<A> a_(a);
  const on_gpu<B> b_(b);
  const on_gpu<float> bias_(bias), residual_(residual);
  const on_gpu<Out> out_(before), pre_(m, n);
  const flat_on_gpu<bf16> a_room(k * motet::cuda::detail::copy_stride(m)),
      b_room(n * motet::cuda::detail::copy_stride(k));
  const flat_on_gpu<std::byte> beside(motet::cuda::gemm_room::bytes(n));
  laws::gpu().part<motet::cuda::product_settings>().library = library;
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    if (ctx.measuring()) return;
    motet::cuda::gemm<Compute>(
        ctx, m, n, k, motet::cuda::gemm_source<A>{a_.all(), true, a_room.data(), nullptr},
        motet::cuda::gemm_source<B>{b_.all(), true, b_room.data(), nullptr}, out_.data(), n,
        motet::cuda::gemm_epilogue<float, float, Out, motet::cuda::epilogue_mode::forward>{
            .bias = bias_.data(),
            .residual = residual_.data(),
            .residual_stride = n,
            .kind = kind,
            .pre = pre_.data(),
            .pre_stride = n,
            .accumulate = accumulate},
        motet::cuda::gemm_room{beside.data()});
  });
  laws::gpu().part<motet::cuda::product_settings>().library = true;
  grid<double> want(m, n), want_pre(m, n);
  for (isize i = 0; i < m; ++i)
    for (isize j = 0; j < n; ++j) {
      double sum = bias(0, j);
      for (isize l = 0; l < k; ++l) sum += a(l, i) * b(j, l);
      want_pre.at(i, j) = sum;
      want.at(i, j) =
          laws::activation_reference(kind, sum) + residual(i, j) + (accumulate ? before(i, j) : 0);
    }
  const double most = std::is_same_v<Compute, bf16> ? 3e-2 : 2e-5;
  CHECK(distance(out_.back(), want) < most);
  CHECK(distance(pre_.back(), want_pre) < most);
}

}  // namespace

TEST_CASE("epilogues that the library lacks are a second pass") {
  for (const bool library : {false, true})
    for (const bool accumulate : {false, true})
      for (const auto& [m, n, k] : {std::tuple<isize, isize, isize>{8, 16, 24}, {5, 7, 9}, {24, 8, 0}})
        for (const activation kind :
             {activation::gelu_tanh, activation::gelu, activation::relu, activation::none}) {
          check_all_pieces<float, float, float, float>(m, n, k, library, accumulate, kind);
          check_all_pieces<bf16, bf16, float, float>(m, n, k, library, accumulate, kind);
          check_all_pieces<bf16, float, float, bf16>(m, n, k, library, accumulate, kind);
        }
}

}  // namespace motet
