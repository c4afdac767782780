// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/losses/token_losses.hpp>

#include <doctest/doctest.h>

#include <cpu_run.hpp>
#include <each_kernel.hpp>
#include <grid.hpp>

#include <limits>
#include <vector>

namespace motet {
using laws::cpu_run_foretold, laws::distance, laws::grid;

namespace {

std::vector<std::int32_t> targets_of(isize rows, isize classes) {
  std::vector<std::int32_t> out;
  for (isize r = 0; r < rows; ++r)
    out.push_back(r % 4 == 2 ? -100 : static_cast<std::int32_t>((r * 31 + 5) % classes));
  return out;
}

template <class T>
void compare(isize rows, isize classes, isize gap, double scale, double weight) {
  CAPTURE(weight);
  CAPTURE(rows);
  CAPTURE(classes);
  const auto logits = grid<T>(rows, classes, gap).random(7, scale);
  const auto slope_of = grid<T>(rows, 1).random(8);
  const auto targets = targets_of(rows, classes);
  // As PyTorch users write it: cross_entropy(x, t) + weight * logsumexp(x) ** 2, and what autograd makes of
  // it.
  grid<double> want(rows, 1), want_slopes(rows, classes);
  for (isize r = 0; r < rows; ++r) {
    const std::int32_t target = targets[as_size(r)];
    want.at(r, 0) = 0;
    double sum = 0;
    for (isize j = 0; j < classes && target >= 0; ++j)
      sum += std::exp(static_cast<double>(logits(r, j)) - static_cast<double>(logits(r, target)));
    const double log_sum = target < 0 ? 0 : static_cast<double>(logits(r, target)) + std::log(sum);
    if (target >= 0) want.at(r, 0) = std::log(sum) + weight * log_sum * log_sum;
    for (isize j = 0; j < classes; ++j) {
      const double probability = std::exp(static_cast<double>(logits(r, j)) - log_sum);
      want_slopes.at(r, j) =
          target < 0 ? 0
                     : static_cast<double>(slope_of(r, 0)) *
                           (probability - (j == target ? 1 : 0) + weight * 2 * log_sum * probability);
    }
  }
  const double allowed = sizeof(T) == 8 ? 1e-12 : 2e-6;
  laws::with_each_kernel([&] {
    for (const int threads : {1, 3}) {
      const sequences seq{rows, 1, nullptr};
      grid<T> losses(rows, 1), slopes(rows, classes, gap);
      auto in_place = logits;
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        token_losses(ctx, seq, logits.view(), targets.data(), {weight}, losses.view());
        token_slopes(ctx, seq, logits.view(), targets.data(), {weight}, slope_of.view(), slopes.view());
        token_slopes(ctx, seq, in_place.view(), targets.data(), {weight}, slope_of.view(), in_place.view());
      });
      CHECK(distance(losses, want) < allowed);
      CHECK(distance(slopes, want_slopes) < allowed);
      CHECK(distance(in_place, slopes) == 0);
    }
  });
}

}  // namespace

TEST_CASE_TEMPLATE("each row's surprise, and its gradient, also in the memory of the logits", T, float,
                   double) {
  for (const double weight : {0.0, 1e-4, 0.3}) {
    compare<T>(9, 136, 8, 3, weight);
    compare<T>(7, 33, 3, 3, weight);
    compare<T>(5, 3, 0, 1, weight);
    compare<T>(12, 64, 0, 300, weight);  // probabilities of one and zero
    compare<T>(1, 1, 0, 1, weight);
    compare<T>(0, 8, 0, 1, weight);
  }
}

TEST_CASE("logits of minus infinity have no probability, NaN stays NaN") {
  const float none = -std::numeric_limits<float>::infinity();
  grid<float> logits(2, 20), losses(2, 1);
  for (isize j = 0; j < 20; ++j) {
    logits.at(0, j) = j < 2 ? 1.0f : none;
    logits.at(1, j) = j == 17 ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
  }
  const std::int32_t targets[] = {0, 3};
  cpu_run_foretold(1, [&](cpu::context& ctx) {
    token_losses(ctx, {2, 1, nullptr}, logits.view(), targets, {}, losses.view());
  });
  CHECK(losses(0, 0) == doctest::Approx(std::log(2.0)));
  CHECK(std::isnan(losses(1, 0)));
}

TEST_CASE("what samples lost is added up, with slopes of one") {
  const auto losses = grid<float>(37, 1).random(3);
  double want = 0;
  for (isize r = 0; r < 37; ++r) want += static_cast<double>(losses(r, 0));
  for (const int threads : {1, 2, 3}) {
    double found = 0, again = 0;
    grid<float> slopes(37, 1);
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      const double one = sum_losses(ctx, losses.view(), slopes.view());
      const double two = sum_losses(ctx, losses.view(), matrix<float>{});
      if (ctx.thread == 0) found = one, again = two;
    });
    CHECK(found == doctest::Approx(want));
    CHECK(again == found);
    for (isize r = 0; r < 37; ++r) CHECK(slopes(r, 0) == 1);
  }
}

}  // namespace motet
