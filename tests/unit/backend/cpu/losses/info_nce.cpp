// SPDX-License-Identifier: Apache-2.0
#include "../../../../laws/pair_loss.hpp"

#include <doctest/doctest.h>

#include <motet/backend/cpu/losses/info_nce.hpp>

namespace motet {
namespace {

// The mean of both cross-entropies from the whole matrix of logits, and its gradients.
laws::pair_answer by_definition(const laws::pair_problem& p) {
  laws::pair_answer out(p);
  const double scale = std::exp(p.log_scale), part = p.share / (2 * static_cast<double>(p.samples));
  std::vector<double> rows(p.a.size()), columns(p.a.size());  // one for each sample; more does no harm
  const auto logit = [&](isize i, isize j) { return scale * p.product(i, j); };
  for (isize i = 0; i < p.samples; ++i) {
    double row_peak = -INFINITY, column_peak = -INFINITY, row = 0, column = 0;
    for (isize j = 0; j < p.samples; ++j) {
      row_peak = std::max(row_peak, logit(i, j));
      column_peak = std::max(column_peak, logit(j, i));
    }
    for (isize j = 0; j < p.samples; ++j) {
      row += std::exp(logit(i, j) - row_peak);
      column += std::exp(logit(j, i) - column_peak);
    }
    rows[static_cast<std::size_t>(i)] = row_peak + std::log(row);
    columns[static_cast<std::size_t>(i)] = column_peak + std::log(column);
    out.loss += part * ((rows[static_cast<std::size_t>(i)] - logit(i, i)) +
                        (columns[static_cast<std::size_t>(i)] - logit(i, i)));
  }
  for (isize i = 0; i < p.samples; ++i)
    for (isize j = 0; j < p.samples; ++j) {
      const double weight = std::exp(logit(i, j) - rows[static_cast<std::size_t>(i)]) +
                            std::exp(logit(i, j) - columns[static_cast<std::size_t>(j)]) - (i == j ? 2 : 0);
      out.add(p, i, j, part * weight * scale);
      out.dlog_scale += part * weight * logit(i, j);
    }
  return out;
}

template <class S>
struct run {
  template <class M>
  double operator()(cpu::context& ctx, matrix<const S> a, matrix<const S> b, const M* log_scale, const M*,
                    double share, matrix<S> da, matrix<S> db, M* dlog_scale, M*) const {
    return info_nce_loss(ctx, a, b, log_scale, share, da, db, dlog_scale);
  }
};

}  // namespace

TEST_CASE("info_nce is what its definition says") {
  for (const auto& p : laws::pair_problems()) {
    CAPTURE(p.samples);
    laws::compare_pair_loss<double>(p, by_definition(p), run<double>{}, 1e-11);
  }
}

TEST_CASE("info_nce in float, with each kernel") {
  laws::with_each_kernel([] {
    for (const auto& p : laws::pair_problems()) {
      CAPTURE(p.samples);
      laws::compare_pair_loss<float>(p, by_definition(p), run<float>{}, 2e-5);
    }
  });
}

TEST_CASE("info_nce agrees with finite differences") { laws::check_pair_slopes(run<double>{}); }

TEST_CASE("info_nce gives every thread the same and does not depend on how many there are") {
  laws::check_pair_threads(run<float>{});
}

TEST_CASE("info_nce stays finite and right where logits are ten thousand") {
  laws::pair_problem p(70, 24, 4.6, 1);
  for (auto& x : p.a) x *= 10;
  for (auto& x : p.b) x *= -10;  // matching pairs look least alike
  const auto wanted = by_definition(p);
  REQUIRE(wanted.loss > 1000);
  laws::compare_pair_loss<double>(p, wanted, run<double>{}, 1e-9);
  laws::compare_pair_loss<float>(p, wanted, run<float>{}, 3e-2);
}

TEST_CASE(
    "info_nce of equal features is the logarithm of their number, and of separate ones nearly nothing") {
  laws::pair_problem same(33, 5, 4.6, 1);
  for (std::size_t i = 0; i < same.a.size(); ++i) same.a[i] = same.b[i] = 1 / std::sqrt(5.0);
  CHECK(laws::pair_trial<float>(same).run(1, run<float>{}).loss == doctest::Approx(std::log(33.0)));
  laws::pair_problem separate(16, 16, 4.6, 1);
  for (std::size_t i = 0; i < separate.a.size(); ++i) separate.a[i] = separate.b[i] = i % 17 == 0 ? 1 : 0;
  CHECK(std::abs(laws::pair_trial<float>(separate).run(1, run<float>{}).loss) < 1e-6);
}

}  // namespace motet
