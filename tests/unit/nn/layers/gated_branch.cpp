// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/gated_branch.hpp>

#include <motet/nn/layers/linear.hpp>

#include "layer_laws.hpp"

using namespace motet;

namespace {
using inner = linear<3, 3>;
using branch = gated_branch<inner>;
}  // namespace

TEST_CASE("a gate is closed at first, and opens by its slope") {
  const auto list = layer::parameters_of<branch>();
  CHECK(list.front().name == "gate");
  CHECK_FALSE(list.front().decay);
  CHECK(list.front().start.kind == fill::zeros);
  const laws::reals x = laws::random_reals(5 * 3, "x"), skip = laws::random_reals(5 * 3, "skip"),
                    dy = laws::random_reals(5 * 3, "dy");
  laws::reals w = laws::random_weights(list, branch::parameter_size);
  const sequences seq{5, 1, nullptr};
  const auto rows = [](auto& of) { return view<double, 3>(of.data(), 5); };
  const auto seen = [](const laws::reals& of) { return view<const double, 3>(of.data(), 5); };
  const auto forward = [&](cpu::context& ctx, branch::saved<fp64>& s, laws::reals& y) {
    branch::reserve<fp64>(ctx, seq, s);
    branch::forward_add(ctx, weights<fp64>{w.data()}, seq, seen(x), seen(skip), rows(y), s);
  };
  const auto made = [&] {
    laws::reals y(15);
    laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
      branch::saved<fp64> s;
      forward(ctx, s, y);
    });
    return y;
  };
  w[0] = 0;
  CHECK(laws::apart(made(), skip) == 0);
  laws::reals y(15), dx(15), g(w.size(), 0.0);
  for (const double gate : {0.0, 0.6, -1.5}) {
    w[0] = gate;
    std::fill(g.begin(), g.end(), 0.0);
    laws::cpu_run_foretold(2, [&](cpu::context& ctx) {
      branch::saved<fp64> s;
      forward(ctx, s, y);
      branch::backward_input(ctx, weights<fp64>{w.data()}, seq, seen(x), seen(dy), rows(dx), s);
      synchronize(ctx);
      branch::backward_weight(ctx, weights<fp64>{w.data()}, seq, seen(x), seen(dy), s,
                              gradients<fp64>{g.data()});
    });
    for (const parameter& each : list) {
      const auto at = static_cast<std::size_t>(each.offset);
      const double kept = w[at], step = 1e-5;
      const auto loss = [&](double value) {
        w[at] = value;
        const laws::reals out = made();
        double sum = 0;
        for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * dy[i];
        return sum;
      };
      const double slope = (loss(kept + step) - loss(kept - step)) / (2 * step);
      w[at] = kept;
      CAPTURE(each.name);
      CHECK(std::abs(slope - g[at]) <= 1e-8);
    }
  }
}
