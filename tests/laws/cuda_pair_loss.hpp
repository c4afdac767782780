// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_run.hpp"
#include "deviation.hpp"
#include "pair_loss.hpp"

// A loss over all pairs of rows on a GPU against the same one of the CPU in double.
namespace motet::laws {

template <class S>
struct gpu_pair_trial {
  const pair_problem* problem;
  double loss = NAN, dlog_scale = 0, dbias = 0;
  deviation worst;  // of the gradients, relative to the largest
  std::vector<S> da, db;

  explicit gpu_pair_trial(const pair_problem& of) : problem(&of) {}

  template <class Loss>
  gpu_pair_trial& run(const Loss& call, const pair_trial<double>& wanted, isize gap = pair_trial<S>::gap,
                      bool gradients = true) {
    constexpr double start = pair_trial<S>::start;
    const pair_problem& p = *problem;
    const auto spread = [&](const std::vector<double>& from) {
      grid<S> out(p.samples, p.width, gap);
      for (isize i = 0; i < p.samples; ++i)
        for (isize c = 0; c < p.width; ++c)
          out.at(i, c) =
              static_cast<S>(from.empty() ? start : from[static_cast<std::size_t>(i * p.width + c)]);
      return out;
    };
    const on_gpu<S> a(spread(p.a)), b(spread(p.b)), to_a(spread({})), to_b(spread({}));
    // log_scale, bias, and their gradients
    const flat_on_gpu<S> numbers(
        std::vector<S>{static_cast<S>(p.log_scale), static_cast<S>(p.bias), S(start), S(start)});
    const S* const given = numbers.data();
    S* const found = numbers.data() + 2;
    gpu_run_foretold([&](cuda::context& ctx) {
      const cuda::real got =
          call(ctx, matrix<const S>(a.all()), matrix<const S>(b.all()), given, given + 1, p.share,
               gradients ? to_a.all() : matrix<S>{}, gradients ? to_b.all() : matrix<S>{},
               gradients ? found : nullptr, gradients ? found + 1 : nullptr);
      if (!ctx.measuring()) loss = number_of(ctx, got);
    });
    const auto after = numbers.back();
    dlog_scale = static_cast<double>(after[2]) - start;
    dbias = static_cast<double>(after[3]) - start;
    const grid<S> got_a = to_a.back(), got_b = to_b.back();
    CHECK(laws::all_intact({got_a.gaps_intact(), got_b.gaps_intact()}));
    // One pair has no gradient: what is left is the rounding of its score, which is larger.
    double size = p.samples == 1 ? 1 : 0.05;
    worst = {};
    for (isize i = 0; i < p.samples; ++i)
      for (isize c = 0; c < p.width; ++c)
        for (const bool first : {true, false}) {
          const double want =
              gradients ? static_cast<double>((first ? wanted.da : wanted.db)[wanted.at(i, c)]) : start;
          worst.add_off((first ? got_a : got_b)(i, c), want, in_matrix(i, c));
          size = std::max(size, std::abs(want - start));
        }
    worst = worst.measured(worst / size);
    da = got_a.data;
    db = got_b.data;
    return *this;
  }
};

// The call of the GPU does what that of the CPU does: with strides and without, with gradients and without,
// and the same bits again.
template <class S, class Loss, class Reference>
void compare_on_gpu(const pair_problem& p, const Loss& call, const Reference& reference, double tolerance) {
  CAPTURE(p.samples);
  pair_trial<double> wanted(p);
  wanted.run(1, reference);
  gpu_pair_trial<S> first(p);
  for (const isize gap : {pair_trial<S>::gap, isize{0}}) {
    gpu_pair_trial<S> t(p);
    t.run(call, wanted, gap);
    CHECK(off_by(t.loss, wanted.loss) <= tolerance * (1 + std::abs(wanted.loss)));
    CHECK(t.worst <= tolerance);
    CHECK(off_by(t.dlog_scale, wanted.dlog_scale - wanted.start) <=
          tolerance * (1 + std::abs(wanted.dlog_scale)));
    CHECK(off_by(t.dbias, wanted.dbias - wanted.start) <= tolerance * (1 + std::abs(wanted.dbias)));
    first = t;
  }
  gpu_pair_trial<S> again(p);
  again.run(call, wanted, 0);
  CHECK(again.loss == first.loss);
  CHECK(off_by(again.da, first.da) == 0);
  CHECK(off_by(again.db, first.db) == 0);
  CHECK(again.dlog_scale == first.dlog_scale);
  gpu_pair_trial<S> only(p);
  only.run(call, wanted, pair_trial<S>::gap, false);
  CHECK(off_by(only.loss, wanted.loss) <= tolerance * (1 + std::abs(wanted.loss)));
  CHECK(only.worst == 0);
}

}  // namespace motet::laws
