// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/experts/router.hpp>

#include <doctest/doctest.h>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

#include <limits>
#include <numeric>

namespace motet {
namespace {

struct routed {
  std::vector<double> probability, lse, fraction, losses;
  std::vector<choice<double>> chosen;
};
routed route(const sequences& seq, const router_shape& shape, std::vector<double> logits, int threads = 1) {
  const isize rows = seq.rows();
  const auto zeros = [](isize count) { return std::vector<double>(static_cast<std::size_t>(count)); };
  routed out{std::move(logits), zeros(rows), zeros(seq.samples * shape.experts), zeros(seq.samples * 2), {}};
  out.chosen.resize(static_cast<std::size_t>(rows * shape.top_k));
  laws::cpu_run_foretold(threads, [&](cpu::context& ctx) {
    route_forward(ctx, seq, shape, matrix<double>{out.probability.data(), rows, shape.experts, shape.experts},
                  matrix<double>{out.lse.data(), rows, 1, 1},
                  matrix<choice<double>>{out.chosen.data(), rows, shape.top_k, shape.top_k},
                  matrix<double>{out.fraction.data(), seq.samples, shape.experts, shape.experts},
                  matrix<double>{out.losses.data(), seq.samples, 2, 2});
  });
  return out;
}
}  // namespace

TEST_CASE("the largest logits are chosen, of equal ones the first") {
  const auto found =
      route({1, 3, nullptr}, {.experts = 4, .top_k = 3}, {1, 1, 1, 1, 0, 2, 5, 2, -3, -1, -1, -2});
  const int want[] = {0, 1, 2, 2, 1, 3, 1, 2, 3};
  for (std::size_t i = 0; i < 9; ++i) CHECK(found.chosen[i].expert == want[i]);
  for (const auto& each : found.chosen) CHECK(each.kept);
  CHECK(found.chosen[0].gate == doctest::Approx(1.0 / 3));
  CHECK(found.chosen[3].gate == doctest::Approx(1 / (1 + 2 * std::exp(-3))));
}

TEST_CASE("gates are probabilities, or their shares of what was chosen") {
  const std::vector<double> logits{0.3, -1, 2, 0.7};
  for (const gate_kind kind : {gate_kind::probability, gate_kind::normalised}) {
    const auto found = route({1, 1, nullptr}, {.experts = 4, .top_k = 2, .gates = kind}, logits);
    const double all = std::exp(0.3) + std::exp(-1) + std::exp(2) + std::exp(0.7),
                 of = kind == gate_kind::probability ? all : std::exp(2) + std::exp(0.7);
    CHECK(found.chosen[0].gate == doctest::Approx(std::exp(2) / of));
    CHECK(found.chosen[1].gate == doctest::Approx(std::exp(0.7) / of));
    CHECK(found.lse[0] == doctest::Approx(std::log(all)));
    CHECK(found.losses[1] == doctest::Approx(std::log(all) * std::log(all)));
  }
}

TEST_CASE("logits far from zero overflow nowhere, and what is no number leads nowhere") {
  const auto large =
      route({1, 2, nullptr}, {.experts = 3, .top_k = 2}, {3000, 3001, -3000, -4000, -4000, -9000});
  for (const double each : large.probability) CHECK(std::isfinite(each));
  CHECK(large.lse[0] == doctest::Approx(3001 + std::log(1 + std::exp(-1))));
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto broken =
      route({1, 3, nullptr}, {.experts = 3, .top_k = 3}, {nan, nan, nan, nan, 1, inf, -inf, -inf, -inf});
  for (std::size_t r = 0; r < 3; ++r) {
    bool seen[3] = {};
    for (std::size_t j = 0; j < 3; ++j) {
      REQUIRE(broken.chosen[3 * r + j].expert < 3);
      CHECK_FALSE(seen[broken.chosen[3 * r + j].expert]);
      seen[broken.chosen[3 * r + j].expert] = true;
    }
  }
}

TEST_CASE("a full expert drops the later rows of a sample, whatever their order of choice") {
  // Rows 0 to 3 of each sample choose experts (0, 1), (1, 0), (0, 1), (1, 2); each takes ceil(0.75 * 4 * 2 /
  // 3) = 2.
  const std::vector<double> one{3, 2, 1, 2, 3, 1, 3, 2, 1, 1, 3, 2};
  std::vector<double> two = one;
  two.insert(two.end(), one.begin(), one.end());
  for (int threads = 1; threads <= 2; ++threads) {
    const auto found = route({2, 4, nullptr}, {.experts = 3, .top_k = 2, .capacity = 0.75}, two, threads);
    const bool want[] = {true, true, true, true, false, false, false, true};
    for (std::size_t i = 0; i < 16; ++i) CHECK(found.chosen[i].kept == want[i % 8]);
    const double fraction[] = {3.0 / 8, 4.0 / 8, 1.0 / 8};  // of what was chosen, dropped or not
    for (std::size_t i = 0; i < 6; ++i) CHECK(found.fraction[i] == doctest::Approx(fraction[i % 3]));
  }
}

TEST_CASE("the balance loss is 1 where all is even, and the number of experts where one has all") {
  std::vector<double> even, all_on_one;
  for (int r = 0; r < 4; ++r)
    for (int e = 0; e < 4; ++e) {
      even.push_back(r == e ? 1 : 0);
      all_on_one.push_back(e == 2 ? 50 : 0);
    }
  const router_shape shape{.experts = 4, .top_k = 1, .gates = gate_kind::probability};
  CHECK(route({1, 4, nullptr}, shape, even).losses[0] == doctest::Approx(1));
  CHECK(route({1, 4, nullptr}, shape, all_on_one).losses[0] == doctest::Approx(4));
  CHECK(route({3, 0, nullptr}, shape, {}).losses == std::vector<double>(6, 0.0));
}

TEST_CASE_TEMPLATE("logits keep the precision of the weights", X, float, bf16) {
  laws::each_batch([](int threads, const sequences& seq) {
    const auto x = laws::grid<X>(seq.rows(), 37, 1).random(1);
    const auto weight = laws::grid<float>(5, 37).random(2);
    laws::grid<float> logits(seq.rows(), 5, 2);
    laws::grid<double> want(seq.rows(), 5);
    laws::cpu_run_foretold(threads, [&](cpu::context& ctx) {
      router_forward(ctx, seq, x.view(), weight.view(), logits.view());
    });
    for (isize r = 0; r < seq.rows(); ++r)
      for (isize e = 0; e < 5; ++e) {
        want.at(r, e) = 0;
        for (isize c = 0; c < 37; ++c) want.at(r, e) += x(r, c) * weight(e, c);
      }
    CHECK_LE(laws::distance(logits, want), 2e-6);
  });
}

}  // namespace motet
