// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/experts/grouped.hpp>

#include <doctest/doctest.h>

#include "../../../../laws/activation_reference.hpp"
#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("products of each group with weights of its own", N, fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  using master = typename N::master;
  const std::vector<std::vector<isize>> groups{{0, 0}, {0, 7}, {0, 0, 19, 20, 20}, {0, 33, 34, 97}};
  laws::with_each_kernel([&] {
    for (const auto& starts : groups)
      for (int threads = 1; threads <= 3; ++threads) {
        CAPTURE(threads);
        constexpr isize in = 19, out = 9;
        const isize rows = starts.back(), keys = static_cast<isize>(starts.size()) - 1;
        std::vector<isize> from = starts;
        const grouping by{keys, from.data(), {}, nullptr, rows};
        const auto x = grid<value>(rows, in, 3).random(1), dy = grid<value>(rows, out, 1).random(2);
        const auto weight = grid<master>(keys * out, in, 1).random(3);
        grid<value> y(rows, out, 2), pre(rows, out), active(rows, out, 1), dx(rows, in, 2);
        auto dweight = grid<master>(keys * out, in, 2).random(4);
        const auto before = dweight;
        laws::cpu_run_foretold(threads, [&](cpu::context& ctx) {
          grouped_linear_forward(ctx, by, x.view(), weight.view(), y.view());
          grouped_linear_forward(ctx, by, x.view(), weight.view(), activation::silu, pre.view(),
                                 active.view());
          grouped_linear_backward_input(ctx, by, dy.view(), weight.view(), dx.view());
          synchronize(ctx);
          grouped_linear_backward_weight(ctx, by, x.view(), dy.view(), dweight.view());
        });
        grid<double> want(rows, out), want_active(rows, out), want_dx(rows, in), want_dweight(keys * out, in);
        want_dx.fill(0);
        for (isize i = 0; i < keys * out; ++i)
          for (isize c = 0; c < in; ++c) want_dweight.at(i, c) = before(i, c);
        for (isize key = 0; key < keys; ++key)
          for (isize r = starts[static_cast<std::size_t>(key)]; r < starts[static_cast<std::size_t>(key) + 1];
               ++r)
            for (isize o = 0; o < out; ++o) {
              double sum = 0;
              for (isize c = 0; c < in; ++c) {
                sum += x(r, c) * weight(key * out + o, c);
                want_dx.at(r, c) += dy(r, o) * weight(key * out + o, c);
                want_dweight.at(key * out + o, c) += dy(r, o) * x(r, c);
              }
              want.at(r, o) = sum;
              want_active.at(r, o) = laws::activation_reference(activation::silu, sum);
            }
        CHECK_LE(distance(y, want), tolerance<value>);
        CHECK_LE(distance(pre, want), tolerance<value>);
        CHECK_LE(distance(active, want_active), tolerance<value>);
        CHECK_LE(distance(dx, want_dx), tolerance<value>);
        CHECK_LE(distance(dweight, want_dweight), tolerance<value>);
        CHECK((y.gaps_intact() && active.gaps_intact() && dx.gaps_intact() && dweight.gaps_intact()));
      }
  });
}

TEST_CASE("the gradient of a gate is what it would multiply") {
  laws::with_each_kernel([] {
    constexpr isize rows = 5, width = 37;
    std::vector<choice<float>> chosen(2 * rows);
    std::vector<std::int32_t> source;
    for (isize p = 0; p < rows; ++p)
      source.push_back(static_cast<std::int32_t>(2 * ((3 * p) % rows) + p % 2));
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i].gate = 0.1f * static_cast<float>(i);
    std::vector<isize> starts{0, rows};
    const grouping by{1, starts.data(), {}, source.data(), rows};
    auto h = grid<float>(rows, width, 1).random(1), t = grid<float>(rows, width, 2).random(2);
    const auto h0 = h, t0 = t;
    std::vector<float> d_gate(rows);
    laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
      gate_backward(ctx, by, matrix<choice<float>>{chosen.data(), rows, 2, 2}, h.view(), t.view(),
                    d_gate.data());
    });
    for (isize p = 0; p < rows; ++p) {
      const auto gate =
          static_cast<double>(chosen[static_cast<std::size_t>(source[static_cast<std::size_t>(p)])].gate);
      double sum = 0;
      for (isize c = 0; c < width; ++c) {
        sum += h0(p, c) * t0(p, c);
        CHECK(h(p, c) == doctest::Approx(gate * h0(p, c)));
        CHECK(t(p, c) == doctest::Approx(gate * t0(p, c)));
      }
      CHECK(static_cast<double>(d_gate[static_cast<std::size_t>(p)]) == doctest::Approx(sum).epsilon(1e-5));
    }
  });
}

}  // namespace motet
