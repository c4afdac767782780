// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/products/linear.hpp>

#include "../../../../laws/activation_reference.hpp"
#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("linear layers and their gradients against plain loops", N, fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  using stream = typename N::stream;
  using master = typename N::master;
  each_batch([](int threads, const sequences& seq) {
    for (const auto& [in, out] : {std::pair<isize, isize>{1, 1}, {7, 19}, {65, 48}})
      for (const bool with_bias : {false, true}) {
        CAPTURE(threads);
        CAPTURE(in);
        CAPTURE(out);
        const isize rows = seq.rows();
        const auto x = grid<value>(rows, in, 3).random(1);
        const auto weight = grid<master>(out, in, 1).random(2), bias = grid<master>(1, out).random(3);
        const auto residual = grid<stream>(rows, out, 2).random(4),
                   dx_residual = grid<stream>(rows, in, 1).random(5);
        const auto dy = grid<value>(rows, out, 1).random(6);
        const auto dy_stream = grid<stream>(rows, out, 2).random(7);
        const master* b = with_bias ? bias.data.data() : nullptr;
        const activation kind = with_bias ? activation::gelu : activation::silu;

        grid<value> plain(rows, out, 2), pre(rows, out), active(rows, out, 1), bare_active(rows, out);
        grid<stream> added(rows, out, 1);
        auto in_place = residual;
        grid<value> dx(rows, in, 2), dx_active(rows, in), replayed(rows, in, 1);
        grid<stream> dx_stream(rows, in, 1);
        auto dx_in_place = dx_residual;
        auto over_pre = x;  // stands for what lay before an activation
        auto dweight = grid<master>(out, in, 2).random(8), dbias = grid<master>(1, out).random(9);
        const auto dweight0 = dweight, dbias0 = dbias;
        auto bias_alone = dbias;
        cpu_run_foretold(threads, [&](cpu::context& ctx) {
          linear_forward(ctx, seq, x.view(), weight.view(), b, plain.view());
          linear_forward(ctx, seq, x.view(), weight.view(), b, residual.view(), added.view());
          linear_forward(ctx, seq, x.view(), weight.view(), b, in_place.view(), in_place.view());
          linear_forward(ctx, seq, x.view(), weight.view(), b, kind, pre.view(), active.view());
          linear_forward(ctx, seq, x.view(), weight.view(), b, kind, matrix<value>{}, bare_active.view());
          linear_backward_input(ctx, seq, dy.view(), weight.view(), dx.view());
          linear_backward_input(ctx, seq, dy_stream.view(), weight.view(), dx_residual.view(),
                                dx_stream.view());
          linear_backward_input(ctx, seq, dy.view(), weight.view(), dx_in_place.view(), dx_in_place.view());
          linear_backward_input(ctx, seq, dy.view(), weight.view(), kind, x.view(), replayed.view(),
                                dx_active.view());
          linear_backward_input(ctx, seq, dy_stream.view(), weight.view(), kind, over_pre.view(),
                                over_pre.view(), dx_active.view());
          synchronize(ctx);
          linear_backward_weight(ctx, x.view(), dy.view(), dweight.view(),
                                 with_bias ? dbias.data.data() : nullptr);
          linear_backward_weight(ctx, x.view(), dy_stream.view(), dweight.view(),
                                 with_bias ? dbias.data.data() : nullptr);
          linear_backward_bias(ctx, dy.view(), with_bias ? bias_alone.data.data() : nullptr);
          linear_backward_bias(ctx, dy_stream.view(), with_bias ? bias_alone.data.data() : nullptr);
        });

        grid<double> want(rows, out), want_added(rows, out), want_active(rows, out);
        grid<double> want_dx(rows, in), want_stream(rows, in), want_in_place(rows, in),
            want_replayed(rows, in), want_dx_active(rows, in);
        grid<double> want_dweight(out, in), want_dbias(1, out);
        for (isize r = 0; r < rows; ++r) {
          for (isize o = 0; o < out; ++o) {
            double sum = with_bias ? bias(0, o) : 0;
            for (isize k = 0; k < in; ++k) sum += x(r, k) * weight(o, k);
            want.at(r, o) = sum;
            want_added.at(r, o) = sum + residual(r, o);
            want_active.at(r, o) = laws::activation_reference(kind, sum);
          }
          for (isize k = 0; k < in; ++k) {
            double sum = 0, sum_stream = 0;
            for (isize o = 0; o < out; ++o)
              sum += dy(r, o) * weight(o, k), sum_stream += dy_stream(r, o) * weight(o, k);
            want_dx.at(r, k) = sum;
            want_stream.at(r, k) = sum_stream + dx_residual(r, k);
            want_in_place.at(r, k) = sum + dx_residual(r, k);
            want_replayed.at(r, k) = laws::activation_reference(kind, x(r, k));
            want_dx_active.at(r, k) = sum_stream * laws::slope_reference(kind, x(r, k));
          }
        }
        for (isize o = 0; o < out; ++o) {
          want_dbias.at(0, o) = dbias0(0, o);
          for (isize r = 0; with_bias && r < rows; ++r) want_dbias.at(0, o) += dy(r, o) + dy_stream(r, o);
          for (isize k = 0; k < in; ++k) {
            want_dweight.at(o, k) = dweight0(o, k);
            for (isize r = 0; r < rows; ++r) want_dweight.at(o, k) += x(r, k) * (dy(r, o) + dy_stream(r, o));
          }
        }
        // With bf16, operands of a product are rounded to 8 bits; what is not rounded to bf16 at the end is
        // off by that much.
        const double product = 3 * tolerance<value>;
        CHECK(distance(plain, want) < product);
        CHECK(distance(added, want_added) < product);
        CHECK(distance(in_place, added) == 0);
        CHECK(distance(pre, plain) < product);
        CHECK(distance(active, want_active) < product);
        CHECK(distance(bare_active, active) < product);
        CHECK(distance(dx, want_dx) < product);
        CHECK(distance(dx_stream, want_stream) < product);
        CHECK(distance(dx_in_place, want_in_place) < product);
        CHECK(distance(replayed, want_replayed) < product);
        CHECK(distance(over_pre, want_replayed) < product);
        CHECK(distance(dx_active, want_dx_active) < std::max(product, 1e-8));  // the slope is a difference
        CHECK(distance(dweight, want_dweight) < product);
        CHECK(distance(dbias, want_dbias) < product);
        CHECK(bias_alone.data == dbias.data);
        CHECK((plain.gaps_intact() && added.gaps_intact() && in_place.gaps_intact() && pre.gaps_intact() &&
               active.gaps_intact()));
        CHECK((dx.gaps_intact() && dx_stream.gaps_intact() && dx_in_place.gaps_intact() &&
               replayed.gaps_intact() && dweight.gaps_intact()));
      }
  });
}

// A rank that holds no head or hidden unit of a layer still takes part with the others.
TEST_CASE_TEMPLATE("products of no inputs are what is added to them, and those of no outputs are nothing", N,
                   fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  using stream = typename N::stream;
  using master = typename N::master;
  each_batch([](int threads, const sequences& seq) {
    const isize rows = seq.rows(), width = 35;
    const auto bias = grid<master>(1, width).random(1);
    const auto residual = grid<stream>(rows, width, 1).random(2);
    const grid<value> none(rows, 0);
    const grid<master> narrow(width, 0), flat(0, width);
    grid<stream> bare(rows, width, 2), added(rows, width), back(rows, width, 1);
    grid<value> active(rows, 0), pre(rows, 0);
    auto dnarrow = narrow, dflat = flat, dbias = bias;
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      linear_forward(ctx, seq, none.view(), narrow.view(), nullptr, bare.view());
      linear_forward(ctx, seq, none.view(), narrow.view(), bias.data.data(), residual.view(), added.view());
      linear_forward(ctx, seq, residual.view(), flat.view(), nullptr, activation::gelu, pre.view(),
                     active.view());
      linear_backward_input(ctx, seq, none.view(), flat.view(), back.view());
      synchronize(ctx);
      linear_backward_weight(ctx, none.view(), residual.view(), dnarrow.view(), dbias.data.data());
      linear_backward_weight(ctx, residual.view(), none.view(), dflat.view(), nullptr);
    });
    grid<double> zeros(rows, width), want(rows, width), want_dbias(1, width);
    for (isize c = 0; c < width; ++c) {
      want_dbias.at(0, c) = bias(0, c);
      for (isize r = 0; r < rows; ++r) {
        zeros.at(r, c) = 0;
        want.at(r, c) = bias(0, c) + residual(r, c);
        want_dbias.at(0, c) += residual(r, c);
      }
    }
    CHECK(distance(bare, zeros) == 0);
    CHECK(distance(back, zeros) == 0);
    CHECK(distance(added, want) < tolerance<stream>);
    CHECK(distance(dbias, want_dbias) < tolerance<master>);
    CHECK((bare.gaps_intact() && back.gaps_intact() && dnarrow.gaps_intact() && dflat.gaps_intact() &&
           active.gaps_intact()));
  });
}

}  // namespace motet
