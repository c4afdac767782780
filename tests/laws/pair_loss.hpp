// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cpu_run.hpp"
#include "deviation.hpp"
#include "each_kernel.hpp"

#include <doctest/doctest.h>

#include <motet/tensor/random.hpp>
#include <motet/tensor/view.hpp>

#include <cmath>
#include <vector>

// Every loss over all pairs of rows must obey this, whatever its formula.
namespace motet::laws {

struct pair_problem {
  isize samples, width;
  double log_scale, share, bias = -1.5;
  std::vector<double> a, b;  // (samples, width), rows of length one

  pair_problem(isize sample_count, isize columns, double log_of_scale, double share_of_loss)
      : samples(sample_count), width(columns), log_scale(log_of_scale), share(share_of_loss) {
    draw(a, 1);
    draw(b, 2);
    // Matching rows point in similar directions, as they do after some training.
    for (std::size_t i = 0; i < a.size(); ++i)
      b[i] = static_cast<double>(static_cast<float>(0.6 * a[i] + 0.8 * b[i]));
  }
  double product(isize i, isize j) const {
    double sum = 0;
    for (isize c = 0; c < width; ++c)
      sum += a[static_cast<std::size_t>(i * width + c)] * b[static_cast<std::size_t>(j * width + c)];
    return sum;
  }

 private:
  void draw(std::vector<double>& rows, std::uint64_t name) const {
    const random_stream numbers(3, name);
    for (isize i = 0; i < samples; ++i) {
      double square = 0;
      for (isize c = 0; c < width; ++c) {
        rows.push_back(numbers.normal(static_cast<std::uint64_t>(i * width + c)));
        square += rows.back() * rows.back();
      }
      for (isize c = 0; c < width; ++c) {
        double& x = rows[static_cast<std::size_t>(i * width + c)];
        // the same number in float and in double
        x = static_cast<double>(static_cast<float>(x / std::sqrt(square)));
      }
    }
  }
};

inline std::vector<pair_problem> pair_problems() {
  // One tile, many tiles with ends of all kinds, one sample, none.
  return {{5, 3, 1, 1}, {48, 16, 2.6592601, 0.5}, {131, 40, 4.6, 1}, {65, 129, 0, 2}, {1, 7, 2, 1},
          {0, 8, 1, 1}};
}

struct pair_answer {
  double loss = 0, dlog_scale = 0, dbias = 0;
  std::vector<double> da, db;

  explicit pair_answer(const pair_problem& p) : da(p.a.size()), db(p.b.size()) {}
  // The gradient of the loss by the product of rows i and j.
  void add(const pair_problem& p, isize i, isize j, double slope) {
    for (isize c = 0; c < p.width; ++c) {
      const auto at = static_cast<std::size_t>(i * p.width + c),
                 bt = static_cast<std::size_t>(j * p.width + c);
      da[at] += slope * p.b[bt];
      db[bt] += slope * p.a[at];
    }
  }
};

// Runs a loss with the memory that its dry run asked for. Gradients start at given numbers, as losses must
// add; rows lie apart by more than their width.
template <class S>
struct pair_trial {
  static constexpr double start = 0.25;
  static constexpr isize gap = 3;
  const pair_problem& p;
  std::vector<S> a, b, da, db;
  S log_scale, bias, dlog_scale = S(start), dbias = S(start);
  double loss = 0;
  std::vector<double> losses;  // of each thread

  explicit pair_trial(const pair_problem& problem)
      : p(problem), log_scale(static_cast<S>(p.log_scale)), bias(static_cast<S>(p.bias)) {
    const auto spread = [&](const std::vector<double>& from, std::vector<S>& to, std::vector<S>& gradient) {
      to.assign(static_cast<std::size_t>(p.samples * (p.width + gap)), static_cast<S>(NAN));
      gradient.assign(to.size(), static_cast<S>(start));
      for (isize i = 0; i < p.samples; ++i)
        for (isize c = 0; c < p.width; ++c)
          to[at(i, c)] = static_cast<S>(from[static_cast<std::size_t>(i * p.width + c)]);
    };
    spread(p.a, a, da);
    spread(p.b, b, db);
  }
  std::size_t at(isize row, isize column) const {
    return static_cast<std::size_t>(row * (p.width + gap) + column);
  }

  template <class Loss>
  pair_trial& run(int threads, const Loss& call, bool gradients = true) {
    const auto rows = [&](std::vector<S>& from) {
      return matrix<S>{from.data(), p.samples, p.width, p.width + gap};
    };
    losses.assign(static_cast<std::size_t>(threads), NAN);
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      const double got =
          gradients ? call(ctx, matrix<const S>(rows(a)), matrix<const S>(rows(b)),
                           static_cast<const S*>(&log_scale), static_cast<const S*>(&bias), p.share, rows(da),
                           rows(db), &dlog_scale, &dbias)
                    : call(ctx, matrix<const S>(rows(a)), matrix<const S>(rows(b)),
                           static_cast<const S*>(&log_scale), static_cast<const S*>(&bias), p.share,
                           matrix<S>{}, matrix<S>{}, static_cast<S*>(nullptr), static_cast<S*>(nullptr));
      if (!ctx.measuring()) losses[static_cast<std::size_t>(ctx.thread)] = got;
    });
    loss = losses[0];
    return *this;
  }
  // The largest error of the gradients, relative to the largest entry.
  deviation distance(const pair_answer& wanted) const {
    deviation worst;
    double size = 1e-30;
    for (isize i = 0; i < p.samples; ++i)
      for (isize c = 0; c < p.width + gap; ++c)
        for (const bool first : {true, false}) {
          const auto from = static_cast<std::size_t>(i * p.width + c);
          // the gaps must stay as they were
          const double want = c < p.width ? (first ? wanted.da : wanted.db)[from] : 0;
          worst.add_off(static_cast<double>((first ? da : db)[at(i, c)]) - start, want, in_matrix(i, c));
          size = std::max(size, std::abs(want));
        }
    // sums started at 1/4, so less than that has lost digits
    return worst.measured(worst / std::max(size, 0.05));
  }
};

template <class S, class Loss>
void compare_pair_loss(const pair_problem& p, const pair_answer& wanted, const Loss& call, double tolerance) {
  for (const int threads : {1, 3}) {
    pair_trial<S> t(p);
    t.run(threads, call);
    for (const double loss : t.losses) CHECK(loss == t.loss);
    CHECK(off_by(t.loss, wanted.loss) <= tolerance * (1 + std::abs(wanted.loss)));
    CHECK(t.distance(wanted) <= tolerance);
    CHECK(off_by(static_cast<double>(t.dlog_scale) - t.start, wanted.dlog_scale) <=
          tolerance * (1 + std::abs(wanted.dlog_scale)));
    CHECK(off_by(static_cast<double>(t.dbias) - t.start, wanted.dbias) <=
          tolerance * (1 + std::abs(wanted.dbias)));
  }
  pair_trial<S> only(p);
  only.run(2, call, false);
  CHECK(off_by(only.loss, wanted.loss) <= tolerance * (1 + std::abs(wanted.loss)));
}

template <class Loss>
void check_pair_slopes(const Loss& call) {
  pair_problem p(6, 4, 1.3, 0.7);
  pair_trial<double> t(p);
  t.run(1, call);
  const auto slope = [&](double& x) {
    const double step = 1e-5, old = x;
    x = old + step;
    const double up = pair_trial<double>(p).run(1, call).loss;
    x = old - step;
    const double down = pair_trial<double>(p).run(1, call).loss;
    x = old;
    return (up - down) / (2 * step);
  };
  for (isize i = 0; i < p.samples; ++i)
    for (isize c = 0; c < p.width; ++c) {
      CHECK(off_by(t.da[t.at(i, c)] - t.start, slope(p.a[static_cast<std::size_t>(i * p.width + c)])) < 1e-8);
      CHECK(off_by(t.db[t.at(i, c)] - t.start, slope(p.b[static_cast<std::size_t>(i * p.width + c)])) < 1e-8);
    }
  CHECK(off_by(t.dlog_scale - t.start, slope(p.log_scale)) < 1e-8);
  if (const double by_bias = slope(p.bias); by_bias != 0) CHECK(off_by(t.dbias - t.start, by_bias) < 1e-8);
}

template <class Loss>
void check_pair_threads(const Loss& call) {
  for (const isize samples : {2, 100, 200}) {
    const pair_problem p(samples, 24, 2.5, 1);
    pair_trial<float> one(p);
    one.run(1, call);
    for (const int threads : {2, 3}) {
      pair_trial<float> some(p);
      some.run(threads, call);
      for (const double loss : some.losses) CHECK(loss == some.loss);
      CHECK(off_by(some.loss, one.loss) < 1e-6);
      CHECK(off_by(some.dlog_scale, one.dlog_scale) < 1e-6f);
      CHECK(off_by(some.da, one.da) < 1e-6);
      CHECK(off_by(some.db, one.db) < 1e-6);
    }
  }
}

}  // namespace motet::laws
