// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/modulation.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

#include <tuple>

namespace motet {
using laws::cpu_run_foretold, laws::grid, laws::distance, laws::tolerance;

namespace {

// Calls body(threads, seq, width) with every set of kernels.
template <class Body>
void each_conditioned(Body&& body) {
  laws::with_each_kernel([&] {
    for (int threads = 1; threads <= 3; ++threads)
      for (const auto& [samples, length] : {std::pair<isize, isize>{0, 4}, {2, 1}, {1, 3}, {4, 6}})
        for (const isize width : {3, 21}) body(threads, sequences{samples, length, nullptr}, width);
  });
}
isize row_of(const sequences& seq, isize sample, isize r) { return sample * seq.length + 1 + r; }

}  // namespace

TEST_CASE_TEMPLATE("rows are normed, then scaled and shifted by sample", Y, float, bf16, double) {
  each_conditioned([](int threads, const sequences& seq, isize width) {
    const isize rows = seq.samples * (seq.length - 1);
    const auto x = grid<float>(seq.rows(), width, 3).random(1),
               told = grid<float>(seq.samples, 2 * width, 1).random(2);
    grid<Y> y(rows, width, 2), again(rows, width);
    grid<double> want(rows, width), stats(rows, 2);
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      modulated_norm_forward(ctx, seq, x.view(), told.view(), 1e-6, y.view(), stats.view());
    });
    for (isize s = 0; s < seq.samples; ++s)
      for (isize r = 0; r + 1 < seq.length; ++r) {
        double mean = 0, square = 0;
        for (isize c = 0; c < width; ++c) mean += x(row_of(seq, s, r), c) / static_cast<double>(width);
        for (isize c = 0; c < width; ++c)
          square += std::pow(x(row_of(seq, s, r), c) - mean, 2) / static_cast<double>(width);
        for (isize c = 0; c < width; ++c)
          want.at(s * (seq.length - 1) + r, c) =
              (x(row_of(seq, s, r), c) - mean) / std::sqrt(square + 1e-6) * (1 + told(s, width + c)) +
              told(s, c);
      }
    CHECK(distance(y, want) < 4 * tolerance<Y>);
    CHECK(y.gaps_intact());
    const auto dy = grid<float>(rows, width).random(3);
    grid<float> dx(seq.rows(), width), d_told(seq.samples, 2 * width);
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      modulated_norm_backward(ctx, seq, x.view(), told.view(), stats.view(), dy.view(), matrix<const float>{},
                              dx.view(), d_told.view(), again.view());
    });
    CHECK(distance(again, y) < std::max(tolerance<Y>, tolerance<float>));
    for (isize s = 0; s < seq.samples; ++s)
      for (isize c = 0; c < width; ++c) CHECK(dx(s * seq.length, c) == 0);
  });
}

TEST_CASE("gradients of rows, shifts and scales are those that differences have") {
  const sequences seq{3, 5, nullptr};
  const isize width = 9, rows = 12;
  auto x = grid<double>(15, width).random(1), told = grid<double>(3, 2 * width).random(2);
  const auto dy = grid<double>(rows, width).random(3), residual = grid<double>(15, width).random(4);
  grid<double> y(rows, width), stats(rows, 2), dx(15, width), d_told(3, 2 * width);
  for (int threads = 1; threads <= 2; ++threads) {
    const auto loss = [&] {
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        modulated_norm_forward(ctx, seq, x.view(), told.view(), 1e-6, y.view(), stats.view());
      });
      double sum = laws::weighted_sum(y, dy);
      for (isize r = 0; r < 15; ++r)
        for (isize c = 0; c < width; ++c) sum += residual(r, c) * x(r, c);
      return sum;
    };
    loss();
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      modulated_norm_backward(ctx, seq, x.view(), told.view(), stats.view(), dy.view(), residual.view(),
                              dx.view(), d_told.view(), matrix<double>{});
    });
    CHECK(laws::gradient_error(x, dx, loss) < 1e-7);
    CHECK(laws::gradient_error(told, d_told, loss) < 1e-7);
  }
}

TEST_CASE_TEMPLATE("a branch is added through the gate of its sample", B, float, bf16, double) {
  each_conditioned([](int threads, const sequences& seq, isize width) {
    const isize rows = seq.samples * (seq.length - 1);
    const auto x = grid<float>(seq.rows(), width, 1).random(1),
               gate = grid<float>(seq.samples, width, 2).random(2);
    const auto branch = grid<B>(rows, width, 1).random(3);
    const auto dy = grid<float>(seq.rows(), width, 2).random(4);
    grid<float> y(seq.rows(), width, 3), d_gate(seq.samples, width, 1);
    grid<B> d_branch(rows, width, 2);
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      gated_add_forward(ctx, seq, x.view(), branch.view(), gate.view(), y.view());
      gated_add_backward(ctx, seq, branch.view(), gate.view(), dy.view(), d_branch.view(), d_gate.view());
    });
    grid<double> y_want(seq.rows(), width), gate_want(seq.samples, width), branch_want(rows, width);
    for (isize s = 0; s < seq.samples; ++s)
      for (isize c = 0; c < width; ++c) {
        y_want.at(s * seq.length, c) = x(s * seq.length, c);
        gate_want.at(s, c) = 0;
        for (isize r = 0; r + 1 < seq.length; ++r) {
          const isize with = row_of(seq, s, r), without = s * (seq.length - 1) + r;
          y_want.at(with, c) = x(with, c) + gate(s, c) * branch(without, c);
          branch_want.at(without, c) = gate(s, c) * dy(with, c);
          gate_want.at(s, c) += dy(with, c) * branch(without, c);
        }
      }
    CHECK(distance(y, y_want) < tolerance<float>);
    CHECK(distance(d_branch, branch_want) < tolerance<B>);
    CHECK(distance(d_gate, gate_want) < tolerance<float>);
    CHECK(y.gaps_intact());
    CHECK(d_branch.gaps_intact());
    CHECK(d_gate.gaps_intact());
  });
}

}  // namespace motet
