// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/activation.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/activation.hpp>

#include "laws/activation_reference.hpp"
#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"
#include "laws/gpu_batches.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

constexpr activation kinds[] = {activation::none,       activation::gelu, activation::gelu_tanh,
                                activation::quick_gelu, activation::relu, activation::silu};

TEST_CASE_TEMPLATE("activations on a GPU are those of the CPU", N, fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  std::uint64_t seed = 1;
  laws::each_gpu_batch([&](const sequences& seq) {
    for (const activation kind : kinds)
      for (const isize width : {1, 24, 45, 96}) {
        const isize rows = seq.rows(), gap = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 8 : 5;
        const auto x = grid<value>(rows, width, gap).random(++seed, 4),
                   dy = grid<value>(rows, width, gap).random(++seed);
        const laws::on_gpu<value> gx(x), gdy(dy), y(rows, width, width + gap), dx(rows, width, width + gap),
            over(x), over_x(x), over_dy(dy);
        laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
          activation_forward(ctx, seq, kind, gx.all(), y.all());
          activation_forward(ctx, seq, kind, over.all(), over.all());
          activation_backward(ctx, seq, kind, gx.all(), gdy.all(), dx.all());
          activation_backward(ctx, seq, kind, over_x.all(), gdy.all(), over_x.all());
          activation_backward(ctx, seq, kind, gx.all(), over_dy.all(), over_dy.all());
        });
        grid<value> want(rows, width), slope(rows, width);
        laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
          activation_forward(ctx, seq, kind, x.view(), want.view());
          activation_backward(ctx, seq, kind, x.view(), dy.view(), slope.view());
        });
        for (const auto* each : {&y, &over}) {
          CHECK(distance(each->back(), want) < tolerance<value>);
          CHECK(each->untouched());
        }
        for (const auto* each : {&dx, &over_x, &over_dy}) {
          CHECK(distance(each->back(), slope) < tolerance<value>);
          CHECK(each->untouched());
        }
      }
  });
}

TEST_CASE("far from zero activations neither overflow nor lose a NaN") {
  for (const activation kind : kinds) {
    grid<float> x(1, 8);
    const float far[8] = {-1000.f, -89.f, -20.f, 0.f, 20.f, 89.f, 1000.f, NAN};
    for (isize c = 0; c < 8; ++c) x.at(0, c) = far[c];
    const laws::on_gpu<float> gx(x), dy(grid<float>(1, 8).fill(1)), y(1, 8), dx(1, 8);
    laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
      activation_forward(ctx, {1, 1, nullptr}, kind, gx.all(), y.all());
      activation_backward(ctx, {1, 1, nullptr}, kind, gx.all(), dy.all(), dx.all());
    });
    const auto found = y.back(), slope = dx.back();
    for (isize c = 0; c < 7; ++c) {
      CHECK(found(0, c) == doctest::Approx(laws::activation_reference(kind, x(0, c))).epsilon(1e-5));
      CHECK(slope(0, c) == doctest::Approx(laws::slope_reference(kind, x(0, c))).epsilon(1e-4));
    }
    CHECK(std::isnan(found(0, 7)));
  }
}

}  // namespace motet
