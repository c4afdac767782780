// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/compose/repeat.hpp>
#include <motet/nn/compose/residual.hpp>
#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/mixture.hpp>

#include "../../runtime/allocations.hpp"
#include "layer_laws.hpp"

namespace motet {
namespace {

constexpr attention_config attention{.width = 16, .heads = 2};
constexpr mixture_config experts_of{.width = 16, .experts = 4, .hidden = 16, .balance = 0.05f, .z = 1e-3f};
using mix = mixture<experts_of>;
using block = sequential<residual<layer_norm<16>, self_attention<attention>>, residual<layer_norm<16>, mix>>;
using net = repeat<block, 2>;

struct trained {
  std::vector<double> losses, balances;
  long allocations = 0;  // after the first step
};

// Fits random rows.
template <class N>
trained train(int threads, int steps) {
  using stream = typename N::stream;
  using master = typename N::master;
  static const std::vector<isize> offsets{0, 9, 16, 21, 32};
  const sequences seq{4, 1, offsets.data()};
  const isize rows = seq.rows(), size = net::parameter_size;
  const auto list = layer::parameters_of<net>();
  laws::reals start = laws::random_weights(list, size);
  for (double& each : start)
    if (std::isnan(each)) each = 0;
  std::vector<master> w = laws::narrowed<master>(start), g(w.size()), first(w.size()), second(w.size());
  const auto x = laws::narrowed<stream>(laws::random_reals(rows * 16, "x")),
             target = laws::narrowed<stream>(laws::random_reals(rows * 16, "target"));
  std::vector<stream> y(x.size()), dy(x.size()), dx(x.size());
  trained out;
  out.losses.resize(static_cast<std::size_t>(steps));
  out.balances.resize(static_cast<std::size_t>(steps));
  long before = 0;
  laws::cpu_run_foretold(threads, [&](cpu::context& ctx) {
    ctx.sample_share = 1.0 / static_cast<double>(seq.samples);
    for (std::size_t step = 0; step < static_cast<std::size_t>(ctx.measuring() ? 1 : steps); ++step) {
      const isize mark = ctx.memory.mark();
      typename net::template saved<N> s;
      const view<const stream, 16> from(x.data(), rows);
      net::template reserve<N>(ctx, seq, s);
      net::forward(ctx, weights<N>{w.data()}, seq, from, view<stream, 16>(y.data(), rows), s);
      synchronize(ctx);
      if (!ctx.measuring() && ctx.thread == 0) {
        double loss = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
          const double off = static_cast<double>(y[i]) - static_cast<double>(target[i]);
          loss += off * off / static_cast<double>(y.size());
          dy[i] = static_cast<stream>(2 * off / static_cast<double>(y.size()));
        }
        out.losses[step] = loss;
        for (const auto& each : s.layers)
          out.balances[step] = std::max(out.balances[step], mix::balance_of<N>(seq, each.rest_saved.inner));
      }
      synchronize(ctx);
      net::backward(ctx, weights<N>{w.data()}, seq, from, view<const stream, 16>(dy.data(), rows),
                    view<stream, 16>(dx.data(), rows), s, gradients<N>{g.data()});
      const auto t = static_cast<double>(step + 1);
      adamw(ctx, w.data(), g.data(), first.data(), second.data(), size,
            cpu::update_step{
                .rate = 3e-3, .correction1 = 1 - std::pow(0.9, t), .correction2 = 1 - std::pow(0.999, t)},
            true);
      release(ctx, mark);
      if (step == 0 && !ctx.measuring() && ctx.thread == 0) before = allocations.load();
    }
    synchronize(ctx);
    if (!ctx.measuring() && ctx.thread == 0) out.allocations = allocations.load() - before;
  });
  return out;
}
}  // namespace

TEST_CASE_TEMPLATE(
    "blocks with experts learn, on the same path with any number of threads, and allocate nothing", N, fp32,
    mixed_bf16) {
  const trained one = train<N>(1, 80);
  CHECK(one.allocations == 0);
  CHECK(one.losses.front() > 1);
  CHECK(one.losses.back() < 0.2 * one.losses.front());
  CHECK(one.balances.back() < 1.3);
  const trained two = train<N>(2, 3);
  CHECK(two.allocations == 0);
  for (std::size_t i = 0; i < 3; ++i) CHECK(two.losses[i] == doctest::Approx(one.losses[i]).epsilon(1e-4));
}

}  // namespace motet
