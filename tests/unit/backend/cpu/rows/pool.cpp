// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/pool.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("picking a row of each sample", N, fp32, mixed_bf16, fp64) {
  using stream = typename N::stream;
  using value = typename N::value;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 16, 27})
      for (const pick which : {pick::first, pick::last}) {
        const auto x = grid<stream>(seq.rows(), width, 2).random(1);
        const auto dy = grid<value>(seq.samples, width, 1).random(2);
        grid<value> y(seq.samples, width, 3);
        auto dx = grid<stream>(seq.rows(), width, 1).random(3);
        grid<double> want(seq.samples, width), want_dx(seq.rows(), width);
        for (isize r = 0; r < seq.rows(); ++r)
          for (isize c = 0; c < width; ++c) want_dx.at(r, c) = dx(r, c);
        for (isize s = 0; s < seq.samples; ++s)
          for (isize c = 0; c < width; ++c) {
            want.at(s, c) = 0;
            if (seq.rows_of(s) == 0) continue;
            const isize r = which == pick::first ? seq.begin(s) : seq.end(s) - 1;
            want.at(s, c) = x(r, c);
            want_dx.at(r, c) += dy(s, c);
          }
        cpu_run_foretold(threads, [&](cpu::context& ctx) {
          pick_forward(ctx, seq, which, x.view(), y.view());
          pick_backward(ctx, seq, which, dy.view(), dx.view());
        });
        CHECK(distance(y, want) < tolerance<value>);
        CHECK(distance(dx, want_dx) < tolerance<stream>);
        CHECK((y.gaps_intact() && dx.gaps_intact()));
      }
  });
}

TEST_CASE_TEMPLATE("the mean of each sample's rows", N, fp32, mixed_bf16, fp64) {
  using stream = typename N::stream;
  using value = typename N::value;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 16, 27, 100}) {
      const auto x = grid<value>(seq.rows(), width, 2).random(1);
      const auto dy = grid<stream>(seq.samples, width, 1).random(2);
      grid<stream> y(seq.samples, width, 3);
      grid<value> dx(seq.rows(), width, 1);
      auto want = grid<double>(seq.samples, width).fill(0);
      grid<double> want_dx(seq.rows(), width);
      for (isize s = 0; s < seq.samples; ++s)
        for (isize r = seq.begin(s); r < seq.end(s); ++r)
          for (isize c = 0; c < width; ++c) {
            want.at(s, c) += x(r, c) / static_cast<double>(seq.rows_of(s));
            want_dx.at(r, c) = dy(s, c) / static_cast<double>(seq.rows_of(s));
          }
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        mean_forward(ctx, seq, x.view(), y.view());
        mean_backward(ctx, seq, dy.view(), dx.view());
      });
      CHECK(distance(y, want) < tolerance<stream>);
      CHECK(distance(dx, want_dx) < tolerance<value>);
      CHECK((y.gaps_intact() && dx.gaps_intact()));
    }
  });
}

TEST_CASE_TEMPLATE("a number times the sum of each sample's rows", N, fp32, mixed_bf16, fp64) {
  using stream = typename N::stream;
  using value = typename N::value;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 27}) {
      const auto x = grid<value>(seq.rows(), width, 2).random(1);
      const auto dy = grid<stream>(seq.samples, width, 1).random(2);
      grid<stream> y(seq.samples, width, 3);
      grid<value> dx(seq.rows(), width, 1);
      auto want = grid<double>(seq.samples, width).fill(0);
      grid<double> want_dx(seq.rows(), width);
      for (isize s = 0; s < seq.samples; ++s)
        for (isize r = seq.begin(s); r < seq.end(s); ++r)
          for (isize c = 0; c < width; ++c) {
            want.at(s, c) += 0.375 * x(r, c);
            want_dx.at(r, c) = 0.375 * dy(s, c);
          }
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        sum_forward(ctx, seq, 0.375, x.view(), y.view());
        sum_backward(ctx, seq, 0.375, dy.view(), dx.view());
      });
      CHECK(distance(y, want) < tolerance<stream>);
      CHECK(distance(dx, want_dx) < tolerance<value>);
      CHECK((y.gaps_intact() && dx.gaps_intact()));
    }
  });
}

}  // namespace motet
