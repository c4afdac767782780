// SPDX-License-Identifier: Apache-2.0
#include "../../../../laws/pair_parts.hpp"

#include <doctest/doctest.h>

#include <motet/backend/cpu/losses/sigmoid.hpp>

namespace motet {
namespace {

laws::pair_answer by_definition(const laws::pair_problem& p) {
  laws::pair_answer out(p);
  const double scale = std::exp(p.log_scale), part = p.share / static_cast<double>(p.samples);
  for (isize i = 0; i < p.samples; ++i)
    for (isize j = 0; j < p.samples; ++j) {
      const double sign = i == j ? 1 : -1, product = scale * p.product(i, j),
                   right = sign * (product + p.bias);
      // -log sigmoid(right), without overflow
      out.loss += part * (right > 0 ? std::log1p(std::exp(-right)) : std::log1p(std::exp(right)) - right);
      const double slope = -part * sign / (1 + std::exp(right));
      out.add(p, i, j, slope * scale);
      out.dlog_scale += slope * product;
      out.dbias += slope;
    }
  return out;
}

template <class S>
struct run {
  template <class M>
  double operator()(cpu::context& ctx, matrix<const S> a, matrix<const S> b, const M* log_scale,
                    const M* bias, double share, matrix<S> da, matrix<S> db, M* dlog_scale, M* dbias) const {
    return pairwise_sigmoid_loss(ctx, a, b, log_scale, bias, share, da, db, dlog_scale, dbias);
  }
};

// Rows of one side count, as when ranks share the loss; the others see its rows pass by.
template <class S>
struct in_parts {
  template <class M>
  double operator()(cpu::context& ctx, matrix<const S> a, matrix<const S> b, const M* log_scale,
                    const M* bias, double share, matrix<S> da, matrix<S> db, M* dlog_scale, M* dbias) const {
    const laws::pair_cut cut(a.rows);
    double loss = 0;
    cut.each(a, b, [&](const pair_part<S>& part, interval own) {
      loss += pairwise_sigmoid_part(ctx, part, log_scale, bias, share,
                                    da ? da.slice(own.begin, own.size()) : da, dlog_scale, dbias);
    });
    cut.each_piece(b, a, [&](const pair_part<S>& part, interval own) {
      M* const nobody = nullptr;
      if (db)
        pairwise_sigmoid_part(ctx, part, log_scale, bias, share, db.slice(own.begin, own.size()), nobody,
                              nobody);
    });
    return loss;
  }
};

}  // namespace

TEST_CASE("pairwise_sigmoid in parts is pairwise_sigmoid") {
  for (const auto& p : laws::pair_problems()) {
    CAPTURE(p.samples);
    laws::compare_pair_loss<double>(p, by_definition(p), in_parts<double>{}, 1e-12);
    laws::compare_pair_loss<float>(p, by_definition(p), in_parts<float>{}, 2e-5);
  }
  laws::check_pair_slopes(in_parts<double>{});
  laws::check_pair_threads(in_parts<float>{});
}

TEST_CASE("pairwise_sigmoid is what its definition says") {
  for (const auto& p : laws::pair_problems()) {
    CAPTURE(p.samples);
    laws::compare_pair_loss<double>(p, by_definition(p), run<double>{}, 1e-11);
  }
}

TEST_CASE("pairwise_sigmoid in float, with each kernel") {
  laws::with_each_kernel([] {
    for (const auto& p : laws::pair_problems()) {
      CAPTURE(p.samples);
      laws::compare_pair_loss<float>(p, by_definition(p), run<float>{}, 2e-5);
    }
  });
}

TEST_CASE("pairwise_sigmoid agrees with finite differences") { laws::check_pair_slopes(run<double>{}); }

TEST_CASE("pairwise_sigmoid gives every thread the same and does not depend on how many there are") {
  laws::check_pair_threads(run<float>{});
}

TEST_CASE("pairwise_sigmoid stays finite and right where logits are ten thousand") {
  laws::pair_problem p(70, 24, 4.6, 1);
  for (auto& x : p.a) x *= 10;
  for (auto& x : p.b) x *= 10;
  const auto wanted = by_definition(p);
  REQUIRE(wanted.loss > 1000);
  laws::compare_pair_loss<double>(p, wanted, run<double>{}, 1e-9);
  laws::compare_pair_loss<float>(p, wanted, run<float>{}, 1e-4);
}

TEST_CASE("pairwise_sigmoid where all features are orthogonal follows from the bias alone") {
  laws::pair_problem p(16, 32, 2.3, 1);
  for (std::size_t i = 0; i < p.a.size(); ++i) {
    p.a[i] = i % 33 == 0 ? 1 : 0;            // axis i
    p.b[i] = i % 32 == 31 - i / 32 ? 1 : 0;  // axis 31 - i
  }
  p.bias = -10;
  // 16 matches that look wrong by 10, and 240 others that look right by 10.
  const double wanted = (16 * (10 + std::log1p(std::exp(-10.0))) + 240 * std::log1p(std::exp(-10.0))) / 16;
  CHECK(laws::pair_trial<float>(p).run(1, run<float>{}).loss == doctest::Approx(wanted));
}

}  // namespace motet
