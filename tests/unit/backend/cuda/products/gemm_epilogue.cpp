// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <doctest/doctest.h>
#include <motet/backend/cuda/products/gemm_epilogue.hpp>

#include "laws/activation_reference.hpp"
#include "laws/cuda_run.hpp"
#include "laws/grid.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance, laws::on_gpu;

namespace {

constexpr activation kinds[] = {activation::none,       activation::gelu, activation::gelu_tanh,
                                activation::quick_gelu, activation::relu, activation::silu};

template <class X, class Y, class Sum>
void check_pass(isize rows, isize width, isize gap, activation kind) {
  CAPTURE(width);
  CAPTURE(static_cast<int>(kind));
  const auto x = grid<X>(rows, width, gap).random(1, 2), pre = grid<X>(rows, width, gap).random(2, 2);
  const auto residual = grid<Y>(rows, width, gap).random(3), before = grid<Y>(rows, width, gap).random(4);
  const auto bias = grid<Sum>(1, width).random(5);
  const on_gpu<X> x_(x), pre_in_(pre), pre_(rows, width, width + gap), replayed_(rows, width, width + gap),
      in_place_(pre);
  const on_gpu<Y> residual_(residual), y_(before), forward_(rows, width, width + gap),
      backward_(rows, width, width + gap), over_(rows, width, width + gap);
  const on_gpu<Sum> bias_(bias);
  const auto stream = laws::gpu().stream();
  const isize stride = width + gap;
  using linear = motet::cuda::gemm_epilogue<Sum, Y, X>;
  using forward = motet::cuda::gemm_epilogue<Sum, Y, X, motet::cuda::epilogue_mode::forward>;
  using backward = motet::cuda::gemm_epilogue<Sum, Y, X, motet::cuda::epilogue_mode::backward>;
  motet::cuda::detail::finish(
      stream, rows, width, x_.data(), stride, y_.data(), stride,
      linear{
          .bias = bias_.data(), .residual = residual_.data(), .residual_stride = stride, .accumulate = true});
  motet::cuda::detail::finish(
      stream, rows, width, x_.data(), stride, forward_.data(), stride,
      forward{.bias = bias_.data(), .kind = kind, .pre = pre_.data(), .pre_stride = stride});
  motet::cuda::detail::finish(stream, rows, width, x_.data(), stride, backward_.data(), stride,
                              backward{.kind = kind,
                                       .pre = pre_in_.data(),
                                       .pre_stride = stride,
                                       .replayed = replayed_.data(),
                                       .replayed_stride = stride});
  motet::cuda::detail::finish(stream, rows, width, x_.data(), stride, over_.data(), stride,
                              backward{.kind = kind,
                                       .pre = in_place_.data(),
                                       .pre_stride = stride,
                                       .replayed = in_place_.data(),
                                       .replayed_stride = stride});
  grid<double> want(rows, width), want_pre(rows, width), want_forward(rows, width),
      want_backward(rows, width), want_replayed(rows, width);
  for (isize r = 0; r < rows; ++r)
    for (isize c = 0; c < width; ++c) {
      const double sum = x(r, c) + bias(0, c);
      want.at(r, c) = sum + residual(r, c) + before(r, c);
      want_pre.at(r, c) = sum;
      want_forward.at(r, c) = laws::activation_reference(kind, sum);
      want_backward.at(r, c) = x(r, c) * laws::slope_reference(kind, pre(r, c));
      want_replayed.at(r, c) = laws::activation_reference(kind, pre(r, c));
    }
  CHECK(distance(y_.back(), want) < tolerance<Y>);
  CHECK(distance(pre_.back(), want_pre) < tolerance<X>);
  CHECK(distance(forward_.back(), want_forward) < tolerance<Y>);
  // the slope is a difference
  CHECK(distance(backward_.back(), want_backward) < std::max(tolerance<Y>, 1e-8));
  CHECK(distance(replayed_.back(), want_replayed) < tolerance<X>);
  CHECK(laws::off_by(replayed_.back().data, in_place_.back().data) == 0);
  CHECK(laws::off_by(backward_.back().data, over_.back().data) == 0);
  CHECK(laws::all_intact({y_.untouched(), pre_.untouched(), forward_.untouched(), backward_.untouched(),
                          replayed_.untouched()}));
}

}  // namespace

TEST_CASE("the pass after a product") {
  for (const activation kind : kinds) {
    check_pass<bf16, bf16, float>(5, 24, 8, kind);
    check_pass<bf16, float, float>(3, 17, 0, kind);
    check_pass<float, float, float>(2, 40, 4, kind);
    check_pass<double, double, double>(4, 9, 1, kind);
  }
  check_pass<bf16, bf16, float>(3, 2056, 0, activation::gelu);  // longer than a block is wide
  check_pass<bf16, bf16, float>(0, 16, 0, activation::gelu);
}

TEST_CASE("conversion of flat numbers, and of rows with gaps") {
  for (const auto& [rows, width, gap] : {std::tuple<isize, isize, isize>{3, 1500, 0},
                                         {1, 3, 0},
                                         {7, 9, 2},
                                         {40, 64, 8},
                                         {5, 2048, 0},
                                         {0, 8, 0}}) {
    const auto x = grid<float>(rows, width, gap).random(1, 100);
    const on_gpu<float> x_(x), back_(rows, width);
    const on_gpu<bf16> y_(rows, width, width + gap);
    motet::cuda::detail::convert(laws::gpu().stream(), rows, width, x_.data(), width + gap, y_.data(),
                                 width + gap);
    motet::cuda::detail::convert(laws::gpu().stream(), rows, width, y_.data(), width + gap, back_.data(),
                                 width);
    const auto y = y_.back();
    const auto back = back_.back();
    for (isize r = 0; r < rows; ++r)
      for (isize c = 0; c < width; ++c) {
        CHECK(y.at(r, c).bits == bf16(x.at(r, c)).bits);
        CHECK(back.at(r, c) == static_cast<float>(y.at(r, c)));
      }
    CHECK(y_.untouched());
  }
}

}  // namespace motet
