// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/gate.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("a gate and its gradients against plain loops", N, fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  using master = typename N::master;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 11, 32}) {
      const isize rows = seq.rows();
      const auto x = grid<value>(rows, width, 3).random(1), branch = grid<value>(rows, width, 2).random(2),
                 dy = grid<value>(rows, width, 1).random(3);
      grid<value> y(rows, width, 1), d_branch(rows, width, 2);
      grid<master> sums(rows, 1);
      const master gate = master(0.7);
      master d_gate = 2;
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        gate_forward(ctx, seq, x.view(), branch.view(), &gate, y.view());
        gate_backward_input(ctx, seq, branch.view(), &gate, dy.view(), d_branch.view(), sums.view());
        synchronize(ctx);
        gate_backward_weight(ctx, &gate, sums.view(), &d_gate);
      });
      const double open = std::tanh(static_cast<double>(gate));
      grid<double> want(rows, width), want_branch(rows, width);
      double sum = 0;
      for (isize r = 0; r < rows; ++r)
        for (isize c = 0; c < width; ++c) {
          want.at(r, c) = x(r, c) + open * branch(r, c);
          want_branch.at(r, c) = open * dy(r, c);
          sum += dy(r, c) * branch(r, c);
        }
      CHECK(distance(y, want) < tolerance<value>);
      CHECK(distance(d_branch, want_branch) < tolerance<value>);
      // The foretelling run computes nothing, so it is added once.
      CHECK(static_cast<double>(d_gate) ==
            doctest::Approx(2 + (1 - open * open) * sum).epsilon(1e-4).scale(1 + static_cast<double>(rows)));
      CHECK((y.gaps_intact() && d_branch.gaps_intact()));
    }
  });
}

}  // namespace motet
