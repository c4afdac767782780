// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/kernels/products/tile_kernels.hpp>
#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/backend/cpu/losses/pair_tiles.hpp>
#include <motet/nn/core/operations.hpp>

#include <cmath>

#if MOTET_KERNEL_BODIES
#include <motet/backend/cpu/kernels/vector_math.hpp>
#endif

namespace motet::cpu {

namespace detail {

// The sum of the exponentials of a row's logits is e^peak * sum.
template <class T>
struct row_sums {
  T peak, sum;
};
template <class L>
struct logit_sums_kernel {
  static row_sums<arithmetic<L>> run(const L* logits, isize width);
};
// to[j] = e^(logits[j] - peak) * factor
template <class L, class D>
struct logit_slopes_kernel {
  static void run(const L* logits, isize width, arithmetic<L> peak, arithmetic<L> factor, D* to);
};

}  // namespace detail

// Softmax cross-entropy of each row by itself: the logarithm of the sum of the exponentials of its logits
// less the logit of its target, and its z loss; zero where the target is negative.
template <class L, class S>
void token_losses(context& ctx, const sequences& seq, matrix<L> logits, const std::int32_t* targets, z_loss z,
                  matrix<S> losses) {
  ctx.note("token_losses", 4 * elements_in(logits), bytes_in(logits) + bytes_in(losses));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  for (isize r = own.begin; r < own.end; ++r) {
    *losses.row(r) = S(0);
    if (targets[r] < 0) continue;
    const L* const from = logits.row(r);
    const auto all = kernel_of<detail::logit_sums_kernel, L>::run(from, logits.width);
    const auto log_sum = std::log(all.sum);
    // Differences first, as large logits may lie close together.
    *losses.row(r) = static_cast<S>(log_sum + (all.peak - static_cast<decltype(all.peak)>(from[targets[r]])) +
                                    z.of(all.peak + log_sum));
  }
}

// Its gradients, each times its row's slope: the probability of each token, as often as the z loss has it,
// less one for the target.
template <class L, class S, class D>
void token_slopes(context& ctx, const sequences& seq, matrix<L> logits, const std::int32_t* targets, z_loss z,
                  matrix<S> slopes, matrix<D> dlogits) {
  ctx.note("token_slopes", 7 * elements_in(logits), bytes_in(logits) + bytes_in(dlogits));
  if (ctx.measuring()) return;
  using number = arithmetic<L>;
  const interval own = ctx.own(seq);
  for (isize r = own.begin; r < own.end; ++r) {
    D* const to = dlogits.row(r);
    if (targets[r] < 0) {
      for (isize j = 0; j < dlogits.width; ++j) to[j] = D(0);
      continue;
    }
    const auto all = kernel_of<detail::logit_sums_kernel, L>::run(logits.row(r), logits.width);
    const number slope = static_cast<number>(*slopes.row(r));
    const number times = z.times(all.peak + std::log(all.sum));
    // The target's logit is read before it is written over, where both lie in one memory.
    const number target =
        slope * (std::exp(static_cast<number>(logits.row(r)[targets[r]]) - all.peak) / all.sum * times - 1);
    kernel_of<detail::logit_slopes_kernel, L, D>::run(logits.row(r), logits.width, all.peak,
                                                      slope * times / all.sum, to);
    to[targets[r]] = static_cast<D>(target);
  }
}

// The sum of what samples lost, times a weight. That is its slope by each.
template <class L, class S>
real sum_losses(context& ctx, matrix<L> losses, matrix<S> slopes, double weight = 1) {
  ctx.note("sum_losses", elements_in(losses), bytes_in(losses) + bytes_in(slopes));
  if (ctx.measuring()) return 0;
  synchronize(ctx);  // losses are in place
  const interval own = sequences{losses.rows}.part(ctx.thread, ctx.threads);
  double sum = 0;
  for (isize r = own.begin; r < own.end; ++r)
    for (isize j = 0; j < losses.width; ++j) {
      sum += static_cast<double>(losses.row(r)[j]);
      if (slopes) slopes.row(r)[j] = static_cast<S>(weight);
    }
  const double all = detail::sum_over_team(ctx, sum);
  synchronize(ctx);
  return weight * all;
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/losses/token_losses.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu::detail {

template <class L>
row_sums<arithmetic<L>> logit_sums_kernel<L>::run(const L* logits, isize width) {
  using number = arithmetic<L>;
  row_sums<number> found{};
  MOTET_SIMD_DISPATCH(, logit_sums<number>(logits, width, found.peak, found.sum));
  return found;
}
template <class L, class D>
void logit_slopes_kernel<L, D>::run(const L* logits, isize width, arithmetic<L> peak, arithmetic<L> factor,
                                    D* to) {
  using number = arithmetic<L>;
  MOTET_SIMD_DISPATCH(, logit_slopes<number>(logits, width, peak, factor, to));
}

}  // namespace motet::cpu::detail
#endif
