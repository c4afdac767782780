// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/normalize.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("rows of unit length and their gradients against plain loops", N, fp32, mixed_bf16, fp64) {
  using stream = typename N::stream;
  using value = typename N::value;
  using master = typename N::master;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 16, 27, 100}) {
      const isize rows = seq.rows();
      const auto x = grid<value>(rows, width, 2).random(1, 3);
      const auto dy = grid<stream>(rows, width, 1).random(2);
      grid<stream> y(rows, width, 3), dx(rows, width, 1);
      grid<master> lengths(rows, 1);
      auto in_place = x;
      auto over_dy = dy;
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        normalize_forward(ctx, seq, x.view(), y.view(), lengths.view());
        normalize_forward(ctx, seq, in_place.view(), in_place.view(), lengths.view());
        normalize_backward(ctx, seq, y.view(), lengths.view(), dy.view(), dx.view());
        normalize_backward(ctx, seq, y.view(), lengths.view(), over_dy.view(), over_dy.view());
      });
      grid<double> want(rows, width), want_lengths(rows, 1), want_dx(rows, width);
      for (isize r = 0; r < rows; ++r) {
        double square = 0, along = 0;
        for (isize c = 0; c < width; ++c) square += x(r, c) * x(r, c);
        const double length = want_lengths.at(r, 0) = std::sqrt(square);
        for (isize c = 0; c < width; ++c) {
          want.at(r, c) = x(r, c) / length;
          along += want(r, c) * dy(r, c);
        }
        for (isize c = 0; c < width; ++c) want_dx.at(r, c) = (dy(r, c) - want(r, c) * along) / length;
      }
      // One column: the gradient is zero up to rounding, divided by a length that may be small.
      const double loose = width == 1 ? 50 : 1;
      CHECK(distance(y, want) < tolerance<stream>);
      CHECK(distance(in_place, want) < tolerance<value>);
      CHECK(distance(lengths, want_lengths) < tolerance<master>);
      CHECK(distance(dx, want_dx) < loose * tolerance<stream>);
      CHECK(distance(over_dy, dx) < tolerance<stream>);
      CHECK((y.gaps_intact() && dx.gaps_intact() && in_place.gaps_intact()));
    }
  });
}

TEST_CASE_TEMPLATE("a row of zeros has no direction and no gradient", T, float, double) {
  const sequences seq{2, 1, nullptr};
  const auto x = grid<T>(2, 20).fill(0), dy = grid<T>(2, 20).random(1);
  grid<T> y(2, 20), dx(2, 20), lengths(2, 1);
  cpu_run_foretold(1, [&](cpu::context& ctx) {
    normalize_forward(ctx, seq, x.view(), y.view(), lengths.view());
    normalize_backward(ctx, seq, y.view(), lengths.view(), dy.view(), dx.view());
  });
  CHECK(distance(y, x) == 0);
  CHECK(distance(dx, x) == 0);
}

TEST_CASE("the gradient of normalize is the difference of the forward pass") {
  const sequences seq{3, 1, nullptr};
  auto x = grid<double>(3, 13).random(1);
  const auto dy = grid<double>(3, 13).random(2);
  grid<double> y(3, 13), dx(3, 13), lengths(3, 1);
  cpu::context ctx;
  std::byte nothing[64];
  ctx.memory = ctx.scratch = arena(nothing, 64);
  const auto loss = [&] {
    normalize_forward(ctx, seq, x.view(), y.view(), lengths.view());
    return laws::weighted_sum(y, dy);
  };
  loss();
  normalize_backward(ctx, seq, y.view(), lengths.view(), dy.view(), dx.view());
  CHECK(laws::gradient_error(x, dx, loss) < 1e-8);
}

}  // namespace motet
