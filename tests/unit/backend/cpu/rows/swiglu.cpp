// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/swiglu.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("swiglu and its gradient against plain loops", N, fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 11, 32, 51}) {
      const isize rows = seq.rows();
      const auto x = grid<value>(rows, 2 * width, 3).random(1, 5);
      const auto dy = grid<value>(rows, width, 2).random(2);
      grid<value> y(rows, width, 1), dx(rows, 2 * width, 2);
      auto in_place = x;
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        swiglu_forward(ctx, seq, x.view(), y.view());
        swiglu_backward(ctx, seq, x.view(), dy.view(), dx.view());
        swiglu_backward(ctx, seq, in_place.view(), dy.view(), in_place.view());
      });
      grid<double> want(rows, width), want_dx(rows, 2 * width);
      for (isize r = 0; r < rows; ++r)
        for (isize c = 0; c < width; ++c) {
          const double gate = x(r, c), up = x(r, width + c), s = 1 / (1 + std::exp(-gate));
          want.at(r, c) = gate * s * up;
          want_dx.at(r, c) = dy(r, c) * up * (s + gate * s * (1 - s));
          want_dx.at(r, width + c) = dy(r, c) * gate * s;
        }
      CHECK(distance(y, want) < tolerance<value>);
      CHECK(distance(dx, want_dx) < tolerance<value>);
      CHECK(distance(in_place, dx) == 0);
      CHECK((y.gaps_intact() && dx.gaps_intact() && in_place.gaps_intact()));
    }
  });
}

TEST_CASE("the gradient of swiglu is the difference of the forward pass") {
  const sequences seq{3, 1, nullptr};
  auto x = grid<double>(3, 14).random(1, 3);
  const auto dy = grid<double>(3, 7).random(2);
  grid<double> y(3, 7), dx(3, 14);
  cpu::context ctx;
  std::byte nothing[64];
  ctx.memory = ctx.scratch = arena(nothing, 64);
  swiglu_backward(ctx, seq, x.view(), dy.view(), dx.view());
  CHECK(laws::gradient_error(x, dx, [&] {
          swiglu_forward(ctx, seq, x.view(), y.view());
          return laws::weighted_sum(y, dy);
        }) < 1e-8);
}

}  // namespace motet
