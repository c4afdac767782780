// SPDX-License-Identifier: Apache-2.0
#include "../../../../laws/pair_parts.hpp"

#include <doctest/doctest.h>

#include <motet/backend/cpu/losses/info_nce.hpp>
#include <motet/backend/cpu/losses/info_nce_part.hpp>

namespace motet {
namespace {

template <class S>
struct whole {
  template <class M>
  double operator()(cpu::context& ctx, matrix<const S> a, matrix<const S> b, const M* log_scale, const M*,
                    double share, matrix<S> da, matrix<S> db, M* dlog_scale, M*) const {
    return info_nce_loss(ctx, a, b, log_scale, share, da, db, dlog_scale);
  }
};

// All sums of one side in the order of its columns.
template <class S, class M>
double tell(cpu::context& ctx, const laws::pair_cut& cut, matrix<const S> rows, matrix<const S> others,
            const M* log_scale, double share, S* in_order, M* dlog_scale) {
  double loss = 0;
  isize next = 0;
  const auto all = cut.pieces(others);
  for (const std::size_t p : laws::pair_cut::order) {
    const interval own = cut.parts[p];
    const pair_part<S> part{rows.slice(own.begin, own.size()), cut.columns.data() + own.begin, all,
                            others.rows};
    loss += info_nce_sums(ctx, part, log_scale, share, in_order + next, dlog_scale);
    next += own.size();
  }
  return loss;
}

template <class S>
struct in_parts {
  template <class M>
  double operator()(cpu::context& ctx, matrix<const S> a, matrix<const S> b, const M* log_scale, const M*,
                    double share, matrix<S> da, matrix<S> db, M* dlog_scale, M*) const {
    const laws::pair_cut cut(a.rows);
    const isize mark = ctx.memory.mark();
    S* const rows = ctx.memory.take<S>(a.rows);
    S* const columns = ctx.memory.take<S>(a.rows);
    const double loss = tell(ctx, cut, a, b, log_scale, share, rows, dlog_scale) +
                        tell(ctx, cut, b, a, log_scale, share, columns, dlog_scale);
    synchronize(ctx);
    const auto turn = [&](matrix<const S> own_side, matrix<const S> other, const S* own_sums,
                          const S* other_sums, matrix<S> d) {
      cut.each(own_side, other, [&](const pair_part<S>& part, interval own) {
        const isize at = own.size() > 0 ? part.matches[0] : 0;
        if (d)
          info_nce_gradients(ctx, part, log_scale, share, own_sums + at, other_sums,
                             d.slice(own.begin, own.size()));
      });
    };
    turn(a, b, rows, columns, da);
    turn(b, a, columns, rows, db);
    release(ctx, mark);
    return loss;
  }
};

template <class S>
laws::pair_answer answer_of(const laws::pair_problem& p) {
  laws::pair_answer out(p);
  laws::pair_trial<S> t(p);
  t.run(1, whole<S>{});
  out.loss = t.loss;
  out.dlog_scale = static_cast<double>(t.dlog_scale) - t.start;
  for (isize i = 0; i < p.samples; ++i)
    for (isize c = 0; c < p.width; ++c) {
      out.da[static_cast<std::size_t>(i * p.width + c)] = static_cast<double>(t.da[t.at(i, c)]) - t.start;
      out.db[static_cast<std::size_t>(i * p.width + c)] = static_cast<double>(t.db[t.at(i, c)]) - t.start;
    }
  return out;
}

}  // namespace

TEST_CASE("info_nce in parts is info_nce") {
  for (const auto& p : laws::pair_problems()) {
    CAPTURE(p.samples);
    laws::compare_pair_loss<double>(p, answer_of<double>(p), in_parts<double>{}, 1e-12);
  }
}

TEST_CASE("info_nce in parts in float, with each kernel") {
  laws::with_each_kernel([] {
    for (const auto& p : laws::pair_problems()) {
      CAPTURE(p.samples);
      laws::compare_pair_loss<float>(p, answer_of<double>(p), in_parts<float>{},
                                     p.log_scale > 4 ? 2e-5 : 2e-6);
    }
  });
}

TEST_CASE("info_nce in parts agrees with finite differences") { laws::check_pair_slopes(in_parts<double>{}); }

TEST_CASE("info_nce in parts does not depend on how many threads there are") {
  laws::check_pair_threads(in_parts<float>{});
}

TEST_CASE(
    "info_nce in parts stays finite and right where logits are ten thousand, and where they lie far apart") {
  laws::pair_problem p(70, 24, 4.6, 1);
  for (auto& x : p.a) x *= 10;
  for (auto& x : p.b) x *= -10;
  const auto wanted = answer_of<double>(p);
  REQUIRE(wanted.loss > 1000);
  laws::compare_pair_loss<double>(p, wanted, in_parts<double>{}, 1e-9);
  laws::compare_pair_loss<float>(p, wanted, in_parts<float>{}, 3e-2);
}

TEST_CASE("a trained model's loss and temperature keep their digits in float") {
  // Matching rows nearly equal and a large scale: what is left is far smaller than the logits.
  laws::pair_problem p(90, 32, 4.6, 1);
  for (std::size_t i = 0; i < p.a.size(); ++i)
    p.b[i] = static_cast<double>(static_cast<float>(p.a[i] + 0.05 * p.b[i]));
  const auto wanted = answer_of<double>(p);
  laws::pair_trial<float> t(p);
  t.dlog_scale = 0;
  t.run(1, in_parts<float>{});
  CHECK(std::abs(t.loss - wanted.loss) < 2e-6 + 1e-4 * wanted.loss);
  CHECK(std::abs(static_cast<double>(t.dlog_scale) - wanted.dlog_scale) <
        2e-5 + 1e-4 * std::abs(wanted.dlog_scale));
}

}  // namespace motet
