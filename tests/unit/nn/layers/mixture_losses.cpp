// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/mixture.hpp>

#include "layer_laws.hpp"

#include <algorithm>

namespace motet {
using laws::reals;

namespace {
constexpr mixture_config even{.width = 6, .experts = 5, .hidden = 7};
constexpr mixture_config tight{
    .width = 6, .experts = 4, .hidden = 3, .top_k = 3, .act = activation::silu, .capacity = 0.75f};
constexpr mixture_config balanced{
    .width = 5, .experts = 4, .hidden = 3, .act = activation::relu, .balance = 0.7f, .z = 0.3f};
constexpr mixture_config everything{.width = 5,
                                    .experts = 4,
                                    .hidden = 3,
                                    .gated = true,
                                    .gates = gate_kind::probability,
                                    .capacity = 1,
                                    .balance = 0.7f,
                                    .z = 0.3f};

double activated(activation kind, double x) {
  if (kind == activation::relu) return x > 0 ? x : 0;
  if (kind == activation::silu) return x / (1 + std::exp(-x));
  return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
}

// The layer in plain loops, row by row.
struct plain_result {
  reals y;
  double balance = 0, z = 0;  // summed over samples
  isize dropped = 0;
};
template <mixture_config Config>
plain_result plain(const sequences& seq, const reals& w, const reals& x) {
  constexpr isize width = Config.width, experts = Config.experts, hidden = Config.hidden,
                  wide = Config.gated ? 2 * hidden : hidden;
  using L = mixture<Config>;
  const double *router = w.data(), *up = router + L::nets_at, *down = up + L::nets::narrow_at({});
  plain_result out;
  out.y.assign(x.size(), 0);
  for (isize s = 0; s < seq.samples; ++s) {
    const isize rows = seq.rows_of(s);
    reals mean(experts), fraction(experts);
    std::vector<isize> taken(experts);
    for (isize r = seq.begin(s); r < seq.end(s); ++r) {
      const double* from = x.data() + r * width;
      reals p(experts);
      double sum = 0, chosen_sum = 0;
      for (isize e = 0; e < experts; ++e) {
        for (isize c = 0; c < width; ++c) p[static_cast<std::size_t>(e)] += from[c] * router[e * width + c];
        sum += std::exp(p[static_cast<std::size_t>(e)]);
      }
      out.z += std::log(sum) * std::log(sum) / static_cast<double>(rows);
      for (double& each : p) each = std::exp(each) / sum;
      std::vector<std::size_t> order(experts);
      for (std::size_t e = 0; e < order.size(); ++e) order[e] = e;
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
      for (std::size_t e = 0; e < order.size(); ++e) mean[e] += p[e] / static_cast<double>(rows);
      for (std::size_t j = 0; j < static_cast<std::size_t>(Config.top_k); ++j) chosen_sum += p[order[j]];
      for (std::size_t j = 0; j < static_cast<std::size_t>(Config.top_k); ++j) {
        const std::size_t e = order[j];
        fraction[e] += 1.0 / static_cast<double>(rows * Config.top_k);
        const double share = static_cast<double>(Config.capacity) * static_cast<double>(rows * Config.top_k) /
                             static_cast<double>(experts);
        if (Config.capacity > 0 && static_cast<double>(taken[e]++) >= share) {
          ++out.dropped;
          continue;
        }
        const double gate = p[e] / (Config.gates == gate_kind::normalised ? chosen_sum : 1);
        const isize at = static_cast<isize>(e);
        for (isize h = 0; h < hidden; ++h) {
          double pre = 0, beside = 0;
          for (isize c = 0; c < width; ++c) {
            pre += from[c] * up[(at * wide + h) * width + c];
            if constexpr (Config.gated) beside += from[c] * up[(at * wide + hidden + h) * width + c];
          }
          const double after =
              Config.gated ? activated(activation::silu, pre) * beside : activated(Config.act, pre);
          for (isize c = 0; c < width; ++c)
            out.y[static_cast<std::size_t>(r * width + c)] +=
                gate * after * down[(at * width + c) * hidden + h];
        }
      }
    }
    for (std::size_t e = 0; e < mean.size(); ++e)
      out.balance += static_cast<double>(experts) * fraction[e] * mean[e];
  }
  return out;
}

// Outputs as the plain loops have them, and gradients as the differences of what they add up to: sum(y dy)
// and the two losses.
template <mixture_config Config>
void check_against_plain_loops(const sequences& seq, bool drops) {
  using L = mixture<Config>;
  const auto list = layer::parameters_of<L>();
  const reals w = laws::random_weights(list, L::parameter_size),
              x = laws::random_reals(seq.rows() * L::in, "x"),
              dy = laws::random_reals(seq.rows() * L::out, "dy"), none(w.size(), 0.0);
  const auto got =
      laws::evaluate<fp64>(laws::layer_subject<L>{seq, seq}, laws::way::whole, 2, w, x, dy, none);
  const plain_result want = plain<Config>(seq, w, x);
  CHECK_EQ(want.dropped > 0, drops);
  CHECK_LE(laws::apart(got.y, want.y), 1e-13);

  const auto loss = [&](const reals& w_now, const reals& x_now) {
    const plain_result now = plain<Config>(seq, w_now, x_now);
    double sum = static_cast<double>(Config.balance) * now.balance + static_cast<double>(Config.z) * now.z;
    for (std::size_t i = 0; i < dy.size(); ++i) sum += now.y[i] * dy[i];
    return sum;
  };
  const auto compare = [&](const reals& values, std::size_t at, double found, auto at_values) {
    reals low = values, high = values;
    low[at] -= 1e-5;
    high[at] += 1e-5;
    const double slope = (at_values(high) - at_values(low)) / 2e-5;
    CHECK_LE(std::abs(found - slope), 2e-6 * (1 + std::abs(slope)));
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO("x " << i);
    compare(x, i, got.dx[i], [&](const reals& now) { return loss(w, now); });
  }
  for (const parameter& p : list)
    for (isize i = 0; i < p.size(); ++i) {
      INFO(p.name << " " << i);
      compare(w, static_cast<std::size_t>(p.offset + i), got.g[static_cast<std::size_t>(p.offset + i)],
              [&](const reals& now) { return loss(now, x); });
    }
}
}  // namespace

TEST_CASE("outputs, losses and all gradients are those of plain loops") {
  static const std::vector<isize> offsets{0, 3, 3, 4, 11, 17};
  for (const sequences& seq : {sequences{5, 1, offsets.data()}, sequences{3, 6, nullptr}}) {
    check_against_plain_loops<even>(seq, false);
    check_against_plain_loops<tight>(seq, true);
    check_against_plain_loops<balanced>(seq, false);
    check_against_plain_loops<everything>(seq, true);
  }
}

TEST_CASE("what the losses were can be read after forward") {
  using L = mixture<everything>;
  const sequences seq{3, 6, nullptr};
  const reals w = laws::random_weights(layer::parameters_of<L>(), L::parameter_size),
              x = laws::random_reals(seq.rows() * L::in, "x");
  reals y(x.size());
  double balance = 0, z = 0;
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    L::saved<fp64> s;
    L::reserve<fp64>(ctx, seq, s);
    L::forward(ctx, weights<fp64>{w.data()}, seq, view<const double, 5>(x.data(), seq.rows()),
               view<double, 5>(y.data(), seq.rows()), s);
    if (ctx.measuring()) return;
    balance = L::balance_of<fp64>(seq, s);
    z = L::z_of<fp64>(seq, s);
  });
  const plain_result want = plain<everything>(seq, w, x);
  CHECK(balance == doctest::Approx(want.balance / 3).epsilon(1e-12));
  CHECK(z == doctest::Approx(want.z / 3).epsilon(1e-12));
}

TEST_CASE("a sample is treated alike, whatever stands beside it") {
  using L = mixture<everything>;
  static const std::vector<isize> both{0, 7, 16}, first{0, 7}, second{0, 9};
  const reals w = laws::random_weights(layer::parameters_of<L>(), L::parameter_size),
              x = laws::random_reals(16 * L::in, "x"), dy = laws::random_reals(16 * L::out, "dy"),
              none(w.size(), 0.0);
  const auto run = [&](const std::vector<isize>& offsets, const reals& from, const reals& d) {
    const sequences seq{static_cast<isize>(offsets.size()) - 1, 1, offsets.data()};
    return laws::evaluate<fp64>(laws::layer_subject<L>{seq, seq}, laws::way::whole, 1, w, from, d, none);
  };
  const auto middle = static_cast<std::ptrdiff_t>(7 * L::in);
  const auto together = run(both, x, dy),
             a = run(first, {x.begin(), x.begin() + middle}, {dy.begin(), dy.begin() + middle}),
             b = run(second, {x.begin() + middle, x.end()}, {dy.begin() + middle, dy.end()});
  reals y = a.y, dx = a.dx, g = a.g;
  y.insert(y.end(), b.y.begin(), b.y.end());
  dx.insert(dx.end(), b.dx.begin(), b.dx.end());
  for (std::size_t i = 0; i < g.size(); ++i) g[i] += b.g[i];
  CHECK_EQ(laws::apart(together.y, y), 0);
  CHECK_LE(laws::apart(together.dx, dx), 1e-14);
  CHECK_LE(laws::apart(together.g, g), 1e-13);
}

// Nothing but the two losses has a gradient here.
TEST_CASE("the balance loss spreads rows that all went to one expert") {
  constexpr isize width = 8, experts_count = 4;
  static constexpr mixture_config config{.width = width,
                                         .experts = experts_count,
                                         .hidden = 4,
                                         .top_k = 1,
                                         .gates = gate_kind::probability,
                                         .balance = 1,
                                         .z = 1e-2f};
  using L = mixture<config>;
  const sequences seq{3, 16, nullptr};
  laws::reals w = laws::random_weights(layer::parameters_of<L>(), L::parameter_size),
              x = laws::random_reals(seq.rows() * width, "x"), dy(x.size(), 0.0);
  for (double& each : x) each = 0.5 + each;
  for (std::size_t i = 0; i < width * experts_count; ++i) w[i] = 0.1 * w[i] + (i < width ? 0.5 : 0);
  double begin = 0, end = 0;
  for (int step = 0; step < 60; ++step) {
    laws::reals y(x.size()), dx(x.size()), g(w.size(), 0.0);
    laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
      ctx.sample_share = 1.0 / static_cast<double>(seq.samples);
      const isize mark = ctx.memory.mark();
      L::saved<fp64> s;
      L::reserve<fp64>(ctx, seq, s);
      const view<const double, width> from(x.data(), seq.rows()), d(dy.data(), seq.rows());
      L::forward(ctx, weights<fp64>{w.data()}, seq, from, view<double, width>(y.data(), seq.rows()), s);
      if (!ctx.measuring()) (step == 0 ? begin : end) = L::balance_of<fp64>(seq, s);
      layer::backward<L>(ctx, weights<fp64>{w.data()}, seq, from, d,
                         view<double, width>(dx.data(), seq.rows()), s, gradients<fp64>{g.data()});
      release(ctx, mark);
    });
    for (std::size_t i = 0; i < width * experts_count; ++i) w[i] -= 0.5 * g[i];
    for (std::size_t i = L::nets_at; i < g.size(); ++i) REQUIRE(g[i] == 0);
  }
  CHECK(begin > 2);
  CHECK(end < 1.2);
}

}  // namespace motet
