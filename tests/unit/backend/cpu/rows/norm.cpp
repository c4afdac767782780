// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/norm.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

namespace {

// y and the statistics of one row, in double.
template <class X, class M>
void reference(norm_kind kind, const grid<X>& x, const grid<M>& gain, const M* bias, double epsilon,
               grid<double>& y, grid<double>& stats) {
  const double width = static_cast<double>(x.width);
  for (isize r = 0; r < x.rows; ++r) {
    double mean = 0, square = 0;
    if (kind == norm_kind::layer)
      for (isize c = 0; c < x.width; ++c) mean += x(r, c) / width;
    for (isize c = 0; c < x.width; ++c) square += (x(r, c) - mean) * (x(r, c) - mean);
    stats.at(r, 0) = mean;
    stats.at(r, 1) = 1 / std::sqrt(square / width + epsilon);
    for (isize c = 0; c < x.width; ++c)
      y.at(r, c) = (x(r, c) - mean) * stats(r, 1) * gain(0, c) + (bias ? static_cast<double>(bias[c]) : 0);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("norm forward, replay and gradients against plain loops", N, fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  using stream = typename N::stream;
  using master = typename N::master;
  each_batch([](int threads, const sequences& seq) {
    for (const isize width : {1, 5, 16, 45, 96})
      for (const norm_kind kind : {norm_kind::layer, norm_kind::rms})
        for (const bool with_bias : {false, true}) {
          const isize rows = seq.rows();
          const auto x = grid<stream>(rows, width, 3).random(1, 2, 1);
          const auto gain = grid<master>(1, width).random(2), bias = grid<master>(1, width).random(3);
          const auto dy = grid<value>(rows, width, 1).random(4),
                     residual_part = grid<value>(rows, width).random(5);
          const auto residual = grid<stream>(rows, width, 2).random(6);
          const master* b = with_bias ? bias.data.data() : nullptr;
          grid<value> y(rows, width, 2), again(rows, width);
          grid<master> stats(rows, 2, 1);
          grid<stream> dx(rows, width, 4), dx_bare(rows, width);
          auto in_place = residual;
          auto over_dy = dy;
          auto dgain = grid<master>(1, width).random(7), dbias = grid<master>(1, width).random(8);
          const auto dgain0 = dgain, dbias0 = dbias;
          cpu_run_foretold(threads, [&](cpu::context& ctx) {
            norm_forward(ctx, seq, kind, x.view(), gain.data.data(), b, 1e-5, y.view(), stats.view());
            norm_replay(ctx, seq, kind, x.view(), gain.data.data(), b, stats.view(), again.view());
            norm_backward_input(ctx, seq, kind, x.view(), gain.data.data(), stats.view(), dy.view(),
                                residual.view(), dx.view());
            norm_backward_input(ctx, seq, kind, x.view(), gain.data.data(), stats.view(), dy.view(),
                                matrix<const stream>{}, dx_bare.view());
            norm_backward_input(ctx, seq, kind, x.view(), gain.data.data(), stats.view(), dy.view(),
                                in_place.view(), in_place.view());
            norm_backward_input(ctx, seq, kind, x.view(), gain.data.data(), stats.view(), over_dy.view(),
                                matrix<const stream>{}, over_dy.view());
            synchronize(ctx);
            norm_backward_weight(ctx, kind, x.view(), stats.view(), dy.view(), dgain.data.data(),
                                 with_bias ? dbias.data.data() : nullptr);
          });
          grid<double> want(rows, width), want_stats(rows, 2), want_dx(rows, width), want_bare(rows, width);
          reference(kind, x, gain, b, 1e-5, want, want_stats);
          grid<double> want_dgain(1, width), want_dbias(1, width);
          for (isize c = 0; c < width; ++c)
            want_dgain.at(0, c) = dgain0(0, c), want_dbias.at(0, c) = dbias0(0, c);
          for (isize r = 0; r < rows; ++r) {
            double plain = 0, along = 0;
            const auto unit = [&](isize c) { return (x(r, c) - want_stats(r, 0)) * want_stats(r, 1); };
            for (isize c = 0; c < width; ++c) {
              plain += dy(r, c) * gain(0, c) / static_cast<double>(width);
              along += dy(r, c) * gain(0, c) * unit(c) / static_cast<double>(width);
              want_dgain.at(0, c) += dy(r, c) * unit(c);
              if (with_bias) want_dbias.at(0, c) += dy(r, c);
            }
            if (kind == norm_kind::rms) plain = 0;
            for (isize c = 0; c < width; ++c) {
              want_bare.at(r, c) = want_stats(r, 1) * (dy(r, c) * gain(0, c) - plain - unit(c) * along);
              want_dx.at(r, c) = residual(r, c) + want_bare(r, c);
            }
          }
          // A single column has deviation sqrt(epsilon), so rounding is magnified.
          const double loose = width == 1 ? 50 : 3;
          CHECK(distance(y, want) < loose * tolerance<value>);
          CHECK(distance(again, y) < tolerance<value>);
          CHECK(distance(stats, want_stats) < loose * tolerance<master>);
          CHECK(distance(dx, want_dx) < loose * tolerance<stream>);
          CHECK(distance(dx_bare, want_bare) < loose * tolerance<stream>);
          CHECK(distance(in_place, dx) < tolerance<stream>);
          CHECK(distance(over_dy, want_bare) < loose * tolerance<value>);
          CHECK(distance(dgain, want_dgain) < loose * tolerance<master>);
          CHECK(distance(dbias, want_dbias) < loose * tolerance<master>);
          CHECK((y.gaps_intact() && again.gaps_intact() && stats.gaps_intact() && dx.gaps_intact() &&
                 in_place.gaps_intact()));
        }
  });
}

TEST_CASE("layer norm keeps its digits far from zero") {
  const sequences seq{3, 1, nullptr};
  const auto x = grid<float>(3, 200).random(1, 1, 4000);
  const auto gain = grid<float>(1, 200).fill(1);
  grid<float> y(3, 200), stats(3, 2);
  cpu_run_foretold(1, [&](cpu::context& ctx) {
    norm_forward(ctx, seq, norm_kind::layer, x.view(), gain.data.data(), nullptr, 1e-5, y.view(),
                 stats.view());
  });
  grid<double> want(3, 200), want_stats(3, 2);
  reference(norm_kind::layer, x, gain, static_cast<const float*>(nullptr), 1e-5, want, want_stats);
  CHECK(distance(y, want) < 5e-3);  // one unit in the last place of the mean is 2.4e-4
}

TEST_CASE("norm gradients are the differences of the forward pass") {
  const sequences seq{3, 1, nullptr};
  const isize width = 21;
  for (const norm_kind kind : {norm_kind::layer, norm_kind::rms}) {
    auto x = grid<double>(3, width).random(1, 1, 0.3), gain = grid<double>(1, width).random(2),
         bias = grid<double>(1, width).random(3);
    const auto dy = grid<double>(3, width).random(4);
    grid<double> y(3, width), stats(3, 2), dx(3, width);
    auto dgain = grid<double>(1, width).fill(0), dbias = grid<double>(1, width).fill(0);
    cpu::context ctx;
    std::vector<std::byte> space(4096);
    ctx.memory = ctx.scratch = arena(space.data(), 4096);
    const auto loss = [&] {
      norm_forward(ctx, seq, kind, x.view(), gain.data.data(), bias.data.data(), 1e-5, y.view(),
                   stats.view());
      return laws::weighted_sum(y, dy);
    };
    loss();
    norm_backward_input(ctx, seq, kind, x.view(), gain.data.data(), stats.view(), dy.view(),
                        matrix<const double>{}, dx.view());
    norm_backward_weight(ctx, kind, x.view(), stats.view(), dy.view(), dgain.data.data(), dbias.data.data());
    CHECK(laws::gradient_error(x, dx, loss) < 1e-7);
    CHECK(laws::gradient_error(gain, dgain, loss) < 1e-7);
    CHECK(laws::gradient_error(bias, dbias, loss) < 1e-7);
  }
}

}  // namespace motet
