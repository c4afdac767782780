// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cpu/experts/router.hpp>
#include <motet/backend/cuda/experts/router.hpp>
#include <motet/backend/cuda/kernels/transfer.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include <cpu_run.hpp>
#include <gpu_members.hpp>

namespace motet {
namespace {

template <class Real>
struct routed {
  std::vector<Real> probability, lse, fraction, losses, d_logits;
  std::vector<choice<Real>> chosen;
};
template <class T>
matrix<T> rows_of(T* data, isize rows, isize width) {
  return {data, rows, width, width};
}
template <class Real>
std::vector<Real> random(isize count, const char* name, double size = 1) {
  const random_stream draw(3, name);
  std::vector<Real> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<Real>(size * (2 * static_cast<double>(draw.uniform(i)) - 1));
  return out;
}

template <class Real>
routed<Real> route_on_cpu(const sequences& seq, const router_shape& shape, std::vector<Real> logits,
                          std::vector<Real> d_gate) {
  const isize rows = seq.rows();
  const auto zeros = [](isize count) { return std::vector<Real>(static_cast<std::size_t>(count)); };
  routed<Real> out{std::move(logits),      zeros(rows), zeros(seq.samples * shape.experts),
                   zeros(seq.samples * 2), {},          {}};
  out.chosen.resize(static_cast<std::size_t>(rows * shape.top_k));
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    ctx.sample_share = 0.25;
    const auto probability = rows_of(out.probability.data(), rows, shape.experts),
               lse = rows_of(out.lse.data(), rows, 1);
    const auto fraction = rows_of(out.fraction.data(), seq.samples, shape.experts);
    const auto chosen = rows_of(out.chosen.data(), rows, shape.top_k);
    route_forward(ctx, seq, shape, probability, lse, chosen, fraction,
                  rows_of(out.losses.data(), seq.samples, 2));
    if (ctx.measuring()) out.d_logits = {};
    else out.d_logits = out.probability;
    route_backward(ctx, seq, shape, fraction, lse, chosen, rows_of(d_gate.data(), rows, shape.top_k),
                   rows_of(out.d_logits.data(), rows, shape.experts));
  });
  return out;
}
template <class Real, class Run>
routed<Real> route_on_gpu(const sequences& seq, const router_shape& shape, const std::vector<Real>& logits,
                          const std::vector<Real>& d_gate, Run&& run) {
  const isize rows = seq.rows();
  const laws::flat_on_gpu<Real> there(logits), d_gate_there(d_gate),
      d_logits(static_cast<isize>(logits.size()));
  const laws::flat_on_gpu<Real> lse(rows), fraction(seq.samples * shape.experts), losses(seq.samples * 2);
  const laws::flat_on_gpu<choice<Real>> chosen(rows * shape.top_k);
  run([&](motet::cuda::context& ctx) {
    ctx.sample_share = 0.25;
    const auto probability = rows_of(there.data(), rows, shape.experts), logs = rows_of(lse.data(), rows, 1);
    const auto even = rows_of(fraction.data(), seq.samples, shape.experts);
    const auto to = rows_of(chosen.data(), rows, shape.top_k);
    route_forward(ctx, seq, shape, probability, logs, to, even, rows_of(losses.data(), seq.samples, 2));
    copy(ctx, there.data(), d_logits.data(), there.size());
    route_backward(ctx, seq, shape, even, logs, to, rows_of(d_gate_there.data(), rows, shape.top_k),
                   rows_of(d_logits.data(), rows, shape.experts));
  });
  return {there.back(), lse.back(), fraction.back(), losses.back(), d_logits.back(), chosen.back()};
}
template <class Real>
routed<Real> route_on_gpu(const sequences& seq, const router_shape& shape, const std::vector<Real>& logits,
                          const std::vector<Real>& d_gate) {
  return route_on_gpu(seq, shape, logits, d_gate, [](auto&& body) { laws::gpu_run_foretold(body); });
}

template <class Real>
void check_same(const routed<Real>& got, const routed<Real>& want) {
  const double most = sizeof(Real) == 8 ? 1e-12 : 1e-5;
  CHECK_LE(laws::off_by(got.probability, want.probability, true), most);
  CHECK_LE(laws::off_by(got.lse, want.lse, true), most);
  CHECK_LE(laws::off_by(got.fraction, want.fraction, true), most / 100);
  CHECK_LE(laws::off_by(got.losses, want.losses, true), most);
  CHECK_LE(laws::off_by(got.d_logits, want.d_logits, true), most);
  REQUIRE(got.chosen.size() == want.chosen.size());
  const auto each = [](const routed<Real>& of, auto&& part) {
    std::vector<double> out;
    for (const choice<Real>& chosen : of.chosen) out.push_back(static_cast<double>(part(chosen)));
    return out;
  };
  const auto compare = [&](auto&& part) { return laws::off_by(each(got, part), each(want, part)); };
  CHECK(compare([](const choice<Real>& of) { return of.expert; }) == 0);
  CHECK(compare([](const choice<Real>& of) { return of.kept; }) == 0);
  CHECK_LE(compare([](const choice<Real>& of) { return of.gate; }), most);
}

const std::vector<isize>& ragged() {
  static const std::vector<isize> offsets{0, 3, 3, 50, 51, 51, 120};
  return offsets;
}
std::vector<router_shape> shapes() {
  return {{.experts = 4, .top_k = 3, .balance = 0.3, .z = 0.1},
          {.experts = 1, .top_k = 1, .gates = gate_kind::probability, .capacity = 0.5},
          {.experts = 3, .top_k = 1, .gates = gate_kind::probability, .balance = 0.1},
          {.experts = 9, .top_k = 2, .capacity = 0.75, .balance = 1},
          {.experts = 70, .top_k = 4, .gates = gate_kind::probability, .capacity = 1, .z = 1},
          {.experts = 33, .top_k = 33, .capacity = 0.3, .balance = 0.5, .z = 0.5}};
}
}  // namespace

TEST_CASE_TEMPLATE("rows are routed as on the CPU", Real, float, double) {
  for (const router_shape& shape : shapes())
    for (const sequences& seq : {sequences{6, 1, ragged().data()}, sequences{2, 20, nullptr},
                                 sequences{3, 0, nullptr}, sequences{0, 4, nullptr}}) {
      CAPTURE(shape.experts);
      CAPTURE(seq.samples);
      auto logits = random<Real>(seq.rows() * shape.experts, "logits", 2);
      // Some are equal.
      for (std::size_t i = 0; i + 3 < logits.size(); i += 7) logits[i] = logits[i + 3];
      const auto d_gate = random<Real>(seq.rows() * shape.top_k, "gates");
      check_same(route_on_gpu(seq, shape, logits, d_gate), route_on_cpu(seq, shape, logits, d_gate));
    }
}

TEST_CASE("many experts, and rows in plenty") {
  const auto check = [](const router_shape& shape, const sequences& seq) {
    const auto logits = random<float>(seq.rows() * shape.experts, "logits");
    const auto d_gate = random<float>(seq.rows() * shape.top_k, "gates");
    check_same(route_on_gpu(seq, shape, logits, d_gate), route_on_cpu(seq, shape, logits, d_gate));
  };
  check({.experts = 13000, .top_k = 2, .capacity = 1}, {1, 5, nullptr});
  check({.experts = 3000, .top_k = 2, .capacity = 1}, {1, 40, nullptr});
  check({.experts = 3, .top_k = 2, .capacity = 0.9, .balance = 1}, {2, 1500, nullptr});
}

TEST_CASE("logits far from zero overflow nowhere, and what is no number leads nowhere") {
  const auto large = route_on_gpu<double>({1, 2, nullptr}, {.experts = 3, .top_k = 2},
                                          {3000, 3001, -3000, -4000, -4000, -9000}, {0, 0, 0, 0});
  for (const double each : large.probability) CHECK(std::isfinite(each));
  CHECK(large.lse[0] == doctest::Approx(3001 + std::log(1 + std::exp(-1))));
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto broken =
      route_on_gpu<double>({1, 3, nullptr}, {.experts = 3, .top_k = 3},
                           {nan, nan, nan, nan, 1, inf, -inf, -inf, -inf}, std::vector<double>(9));
  for (std::size_t r = 0; r < 3; ++r) {
    bool seen[3] = {};
    for (std::size_t j = 0; j < 3; ++j) {
      REQUIRE(broken.chosen[3 * r + j].expert < 3);
      CHECK_FALSE(seen[broken.chosen[3 * r + j].expert]);
      seen[broken.chosen[3 * r + j].expert] = true;
    }
  }
}

TEST_CASE("rows of a sample that lie on several ranks are routed as on one") {
  const sequences whole{6, 1, ragged().data()};
  for (const router_shape& shape : shapes())
    for (const bool balanced : {false, true}) {
      const auto logits = random<double>(whole.rows() * shape.experts, "logits", 2);
      const auto d_gate = random<double>(whole.rows() * shape.top_k, "gates");
      const auto want = route_on_cpu(whole, shape, logits, d_gate);
      std::mutex mutex;
      std::vector<double> losses(want.losses.size());
      CHECK(laws::run_gpu_shards(
                1, 3, balanced, whole,
                [&](motet::cuda::engine& on, microbatch_spread& is, const spread_seat& at) {
                  std::vector<std::size_t> rows;
                  for (isize s = 0; s < whole.samples; ++s)
                    for (isize r = 0; r < is.own.rows_of(s); ++r)
                      rows.push_back(static_cast<std::size_t>(
                          whole.begin(s) + is.cut.position(whole.rows_of(s), at.context_member, r)));
                  const auto some = [&](const auto& all, isize width) {
                    std::remove_cvref_t<decltype(all)> out;
                    for (const std::size_t r : rows)
                      for (std::size_t c = 0; c < static_cast<std::size_t>(width); ++c)
                        out.push_back(all[r * static_cast<std::size_t>(width) + c]);
                    return out;
                  };
                  const auto got =
                      route_on_gpu(is.own, shape, some(logits, shape.experts), some(d_gate, shape.top_k),
                                   [&](auto&& body) { laws::gpu_run_foretold_on(on, is, body); });
                  const std::lock_guard lock(mutex);
                  for (std::size_t i = 0; i < losses.size(); ++i) losses[i] += got.losses[i];
                  check_same(got,
                             routed<double>{some(want.probability, shape.experts), some(want.lse, 1),
                                            want.fraction, got.losses, some(want.d_logits, shape.experts),
                                            some(want.chosen, shape.top_k)});
                }) == "");
      CHECK_LE(laws::off_by(losses, want.losses, true), 1e-12);
    }
}

TEST_CASE_TEMPLATE("logits keep the precision of the weights", X, float, bf16) {
  const sequences seq{3, 17, nullptr};
  const auto x = laws::grid<X>(seq.rows(), 40, 8).random(1);
  const auto weight = laws::grid<float>(8, 40).random(2);
  const laws::on_gpu<X> x_there(x);
  const laws::on_gpu<float> weight_there(weight), logits(seq.rows(), 8);
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    router_forward(ctx, seq, matrix<const X>(x_there.all()), matrix<const float>(weight_there.all()),
                   logits.all());
  });
  laws::grid<double> want(seq.rows(), 8);
  for (isize r = 0; r < seq.rows(); ++r)
    for (isize e = 0; e < 8; ++e) {
      want.at(r, e) = 0;
      for (isize c = 0; c < 40; ++c) want.at(r, e) += x(r, c) * weight(e, c);
    }
  CHECK_LE(laws::distance(logits.back(), want), 2e-6);
}

}  // namespace motet
