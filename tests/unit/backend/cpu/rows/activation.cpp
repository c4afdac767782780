// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/activation.hpp>

#include "../../../../laws/activation_reference.hpp"
#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

namespace {

const activation all_kinds[] = {activation::none,       activation::gelu, activation::gelu_tanh,
                                activation::quick_gelu, activation::relu, activation::silu};

}  // namespace

TEST_CASE_TEMPLATE("activations and their gradients against plain loops", N, fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  using stream = typename N::stream;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 83})
      for (const activation kind : all_kinds) {
        const auto x = grid<value>(seq.rows(), width, 3).random(1, 6);
        const auto dy = grid<stream>(seq.rows(), width, 1).random(2);
        grid<value> y(seq.rows(), width, 2), dx(seq.rows(), width, 1);
        auto in_place = x, turned = x;
        cpu_run_foretold(threads, [&](cpu::context& ctx) {
          activation_forward(ctx, seq, kind, x.view(), y.view());
          activation_forward(ctx, seq, kind, in_place.view(), in_place.view());
          activation_backward(ctx, seq, kind, x.view(), dy.view(), dx.view());
          activation_backward(ctx, seq, kind, turned.view(), dy.view(), turned.view());
        });
        grid<double> want(seq.rows(), width), want_dx(seq.rows(), width);
        for (isize r = 0; r < seq.rows(); ++r)
          for (isize c = 0; c < width; ++c) {
            want.at(r, c) = laws::activation_reference(kind, x(r, c));
            want_dx.at(r, c) = dy(r, c) * laws::slope_reference(kind, x(r, c));
          }
        CHECK(distance(y, want) < tolerance<value>);
        CHECK(distance(dx, want_dx) < std::max(tolerance<value>, 1e-9));
        CHECK(distance(in_place, y) == 0);
        CHECK(distance(turned, dx) == 0);
        CHECK((y.gaps_intact() && dx.gaps_intact() && in_place.gaps_intact()));
      }
  });
}

TEST_CASE_TEMPLATE("activations far out are finite and right", T, float, double) {
  const double far[] = {-1e15, -1e4, -200, -88.8, -50, -20, -14,  -9.5, -6.1, -1e-8, 0,
                        1e-8,  6.1,  9.5,  14,    20,  50,  88.8, 200,  1e4,  1e15};
  const isize width = 21;
  laws::with_each_kernel([&] {
    for (const activation kind : all_kinds) {
      grid<T> x(1, width), y(1, width), dx(1, width);
      const auto dy = grid<T>(1, width).fill(1);
      for (isize c = 0; c < width; ++c) x.at(0, c) = static_cast<T>(far[c]);
      cpu_run_foretold(1, [&](cpu::context& ctx) {
        activation_forward(ctx, {1, 1, nullptr}, kind, x.view(), y.view());
        activation_backward(ctx, {1, 1, nullptr}, kind, x.view(), dy.view(), dx.view());
      });
      for (isize c = 0; c < width; ++c) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(far[c]);
        const double want = laws::activation_reference(kind, x(0, c));
        CHECK(std::abs(y(0, c) - want) <= (sizeof(T) == 4 ? 1e-6 : 1e-12) * (1 + std::abs(want)));
        const double slope = std::abs(far[c]) > 30 ? (kind == activation::none || far[c] > 0 ? 1 : 0)
                                                   : laws::slope_reference(kind, x(0, c));
        CHECK(std::abs(dx(0, c) - slope) < (sizeof(T) == 4 ? 2e-6 : 1e-9));
      }
    }
  });
}

}  // namespace motet
