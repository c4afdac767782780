// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/cpu/losses/cross_entropy.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cpu_run.hpp>
#include <grid.hpp>
#include <thread_members.hpp>

namespace motet {
using laws::cpu_run_foretold, laws::distance, laws::grid, laws::tolerance;

namespace {

struct problem {
  isize rows, classes;
  double scale, smoothing;
  cross_entropy_shape shape() const {
    cross_entropy_shape of;
    of.smoothing = smoothing;
    of.share = 0.125;
    return of;
  }
  grid<float> logits(isize gap = 0) const { return grid<float>(rows, classes, gap).random(7, scale); }
  std::vector<std::int32_t> targets() const {
    std::vector<std::int32_t> out;
    for (isize r = 0; r < rows; ++r)
      out.push_back(r % 4 == 2 ? -100 : static_cast<std::int32_t>((r * 31 + 5) % classes));
    return out;
  }
};
const problem problems[] = {{1, 1, 1, 0},         {5, 3, 1, 0.1},    {9, 130, 3, 0},
                            {12, 33, 2000, 0.25}, {4, 257, 20, 0.1}, {0, 8, 1, 0}};

// The loss follows from its definition, in double.
double by_definition(const problem& p, const grid<double>& x, grid<double>& slopes) {
  const auto targets = p.targets();
  const auto shape = p.shape();
  double loss = 0;
  for (isize r = 0; r < p.rows; ++r) {
    double peak = -INFINITY, sum = 0;
    for (isize j = 0; j < p.classes; ++j) peak = std::max(peak, x(r, j));
    for (isize j = 0; j < p.classes; ++j) sum += std::exp(x(r, j) - peak);
    const bool counts = targets[static_cast<std::size_t>(r)] != shape.ignored;
    for (isize j = 0; j < p.classes; ++j) {
      const double wanted = (j == targets[static_cast<std::size_t>(r)] ? 1 - p.smoothing : 0) +
                            p.smoothing / static_cast<double>(p.classes);
      const double log = x(r, j) - peak - std::log(sum);
      if (counts) loss -= shape.share * wanted * log;
      slopes.at(r, j) = counts ? shape.share * (std::exp(log) - wanted) : 0;
    }
  }
  return loss;
}
grid<double> in_double(const grid<float>& x) {
  grid<double> out(x.rows, x.width);
  for (isize r = 0; r < x.rows; ++r)
    for (isize c = 0; c < x.width; ++c) out.at(r, c) = x(r, c);
  return out;
}

template <class T>
grid<T> in(const grid<float>& x, isize gap) {
  grid<T> out(x.rows, x.width, gap);
  for (isize r = 0; r < x.rows; ++r)
    for (isize c = 0; c < x.width; ++c) out.at(r, c) = T(x.at(r, c));
  return out;
}

}  // namespace

TEST_CASE_TEMPLATE("cross-entropy is what its definition says, in place and aside", T, float, double) {
  for (const auto& p : problems)
    for (int threads = 1; threads <= 3; ++threads) {
      CAPTURE(p.classes);
      auto logits = in<T>(p.logits(), 3);
      const auto targets = p.targets();
      grid<double> wanted(p.rows, p.classes);
      const double want = by_definition(p, in_double(p.logits()), wanted);
      grid<T> slopes(p.rows, p.classes, 2);
      double aside = NAN, in_place = NAN, only = NAN;
      cpu_run_foretold(threads, [&](cpu::context& ctx) {
        const double one = cross_entropy_loss(ctx, p.shape(), logits.view(), targets.data(), slopes.view());
        const double two = cross_entropy_loss(ctx, p.shape(), logits.view(), targets.data(), matrix<T>{});
        const double three = cross_entropy_loss(ctx, p.shape(), logits.view(), targets.data(), logits.view());
        if (ctx.thread != 0) return;
        aside = one;
        only = two;
        in_place = three;
      });
      CHECK(std::abs(aside - want) <= tolerance<T> * (1 + std::abs(want)));
      CHECK(only == aside);
      CHECK(in_place == aside);
      CHECK(distance(slopes, wanted) < tolerance<T>);
      CHECK(distance(logits, slopes) == 0);
      CHECK((logits.gaps_intact() && slopes.gaps_intact()));
    }
}

TEST_CASE("cross-entropy agrees with finite differences") {
  const problem p{5, 7, 2, 0.2};
  auto logits = in<double>(p.logits(), 0);
  const auto targets = p.targets();
  grid<double> slopes(p.rows, p.classes);
  const auto loss = [&](matrix<double> to) {
    double found = 0;
    cpu_run_foretold(1, [&](cpu::context& ctx) {
      found = cross_entropy_loss(ctx, p.shape(), logits.view(), targets.data(), to);
    });
    return found;
  };
  loss(slopes.view());
  for (isize r = 0; r < p.rows; ++r)
    for (isize c = 0; c < p.classes; ++c) {
      const double old = logits(r, c), step = 1e-5;
      logits.at(r, c) = old + step;
      const double up = loss({});
      logits.at(r, c) = old - step;
      const double down = loss({});
      logits.at(r, c) = old;
      CHECK(std::abs((up - down) / (2 * step) - slopes(r, c)) < 1e-9);
    }
}

TEST_CASE("cross-entropy of bf16 logits") {
  const problem p{9, 130, 3, 0.1};
  const auto logits = in<bf16>(p.logits(), 0);
  grid<double> rounded(p.rows, p.classes), wanted = rounded;
  for (isize r = 0; r < p.rows; ++r)
    for (isize c = 0; c < p.classes; ++c) rounded.at(r, c) = logits(r, c);
  const double want = by_definition(p, rounded, wanted);
  grid<bf16> slopes(p.rows, p.classes);
  double got = NAN;
  const auto targets = p.targets();
  cpu_run_foretold(1, [&](cpu::context& ctx) {
    got = cross_entropy_loss(ctx, p.shape(), logits.view(), targets.data(), slopes.view());
  });
  CHECK(std::abs(got - want) < 1e-5 * (1 + want));
  CHECK(distance(slopes, wanted) < tolerance<bf16>);
}

TEST_CASE("members of a tensor group that have some classes each find what one finds that has all") {
  for (const std::int32_t members : {1, 2, 3})
    for (const auto& p : problems) {
      const auto logits = in<double>(p.logits(), 0);
      const auto targets = p.targets();
      grid<double> wanted(p.rows, p.classes);
      const double want = by_definition(p, logits, wanted);
      std::atomic<int> wrong{0};
      laws::run_members(members, [&](std::int32_t member, const any_group& group) {
        microbatch_spread shared;
        shared.tensor = group;
        const interval own{p.classes * member / members, p.classes * (member + 1) / members};
        auto shape = p.shape();
        shape.classes = p.classes;
        shape.first = own.begin;
        if (own.size() == p.classes && members > 1) return;  // one class: nobody else has any
        if (p.classes < members) return;
        grid<double> slopes(p.rows, own.size());
        double got = NAN;
        cpu_run_foretold(2, [&](cpu::context& ctx) {
          ctx.shared = &shared;
          const double found = cross_entropy_loss(ctx, shape, logits.view().columns(own.begin, own.size()),
                                                  targets.data(), slopes.view());
          if (ctx.thread == 0) got = found;
        });
        wrong += std::abs(got - want) <= 1e-12 * (1 + std::abs(want)) ? 0 : 1;
        for (isize r = 0; r < p.rows; ++r)
          for (isize c = 0; c < own.size(); ++c)
            wrong += std::abs(slopes(r, c) - wanted(r, own.begin + c)) < 1e-12 ? 0 : 1;
      });
      CHECK_EQ(wrong.load(), 0);
    }
  cpu::context alone;
  cross_entropy_shape some;
  some.classes = 9;
  CHECK_THROWS_WITH_AS(
      cross_entropy_loss(alone, some, matrix<float>{nullptr, 1, 8, 8}, nullptr, matrix<float>{}),
      doctest::Contains("MT-B05"), error);
}

}  // namespace motet
