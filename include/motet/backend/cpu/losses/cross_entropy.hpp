// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/core/messages.hpp>
#include <motet/backend/cpu/losses/pair_tiles.hpp>
#include <motet/backend/groups/microbatch_spread.hpp>
#include <motet/nn/core/operations.hpp>

#include <cmath>
#include <vector>

namespace motet::cpu {

namespace detail {

// Some classes of a row have these sums: that of the exponentials of their logits is e^peak * sum.
template <class N>
struct class_sums {
  // matched: the logit of the target, zero where it is not among them; total: of all logits
  N peak, sum, matched, total;
};

template <class N, class L>
class_sums<N> sums_of_classes(const L* logits, isize width, isize target) {
  class_sums<N> found{no_peak<N>, 0, target >= 0 && target < width ? static_cast<N>(logits[target]) : N(0),
                      0};
  double sum = 0, total = 0;
  for (isize j = 0; j < width; ++j) {
    const N logit = static_cast<N>(logits[j]);
    if (logit > found.peak) found.peak = logit;
    total += static_cast<double>(logit);
  }
  for (isize j = 0; j < width; ++j)
    sum += static_cast<double>(std::exp(static_cast<N>(logits[j]) - found.peak));
  found.sum = static_cast<N>(sum);
  found.total = static_cast<N>(total);
  return found;
}

// Two members' classes together have these sums.
template <class N>
class_sums<N> joined(const class_sums<N>& a, const class_sums<N>& b) {
  const N peak = a.peak > b.peak ? a.peak : b.peak;
  return {peak, a.sum * std::exp(a.peak - peak) + b.sum * std::exp(b.peak - peak), a.matched + b.matched,
          a.total + b.total};
}

}  // namespace detail

// Softmax cross-entropy: for each row the logarithm of the sum of the exponentials of its logits less the
// logit of its target; with smoothing less that part of the mean of all logits instead. Times share, added
// over all rows that count. Writes the gradients, zeros for rows that do not count; with dlogits none it only
// evaluates. A target that is no class has probability zero and no logit: only rows to be ignored may have
// one.
template <class L, class D>
real cross_entropy_loss(context& ctx, const cross_entropy_shape& shape, matrix<L> logits,
                        const std::int32_t* targets, matrix<D> dlogits) {
  using number = arithmetic<L>;
  const isize rows = logits.rows, classes = shape.classes > 0 ? shape.classes : logits.width;
  const bool cut = classes > logits.width;
  if (cut && ctx.shared == nullptr)
    fail(cut_but_alone, sentence({"logits have ", logits.width, " of ", classes, " classes"}));
  ctx.note("cross_entropy_loss", (dlogits ? 7 : 4) * elements_in(logits),
           bytes_in(logits) + bytes_in(dlogits));
  const isize mark = ctx.memory.mark();
  const isize members = cut ? ctx.shared->tensor.size() : 1;
  auto* const all = ctx.memory.template take<detail::class_sums<number>>(members * rows);  // (members, rows)
  if (ctx.measuring() || rows == 0) {
    ctx.memory.release(mark);
    return 0;
  }
  const interval own = sequences{rows}.part(ctx.thread, ctx.threads);
  synchronize(ctx);  // logits are in place
  auto* const mine = all + (cut ? ctx.shared->tensor.member() * rows : 0);
  for (isize r = own.begin; r < own.end; ++r)
    mine[r] = detail::sums_of_classes<number>(logits.row(r), logits.width, targets[r] - shape.first);
  if (cut) {
    synchronize(ctx);
    if (ctx.thread == 0) {
      const std::vector<isize> bytes(as_size(members), rows * static_cast<isize>(sizeof(*all)));
      ctx.shared->tensor.all_gather(reinterpret_cast<const std::byte*>(mine),
                                    reinterpret_cast<std::byte*>(all), bytes);
    }
    synchronize(ctx);
  }
  double missed = 0;
  const number even = static_cast<number>(shape.smoothing / static_cast<double>(classes)),
               share = static_cast<number>(shape.share);
  for (isize r = own.begin; r < own.end; ++r) {
    const bool counts = targets[r] != shape.ignored;
    auto of = all[r];
    for (isize m = 1; m < members; ++m) of = detail::joined(of, all[m * rows + r]);
    if (counts) {
      const double peak = static_cast<double>(of.peak),
                   mean = static_cast<double>(of.total) / static_cast<double>(classes);
      // Differences first, as large logits may lie close together.
      missed += std::log(static_cast<double>(of.sum)) +
                (1 - shape.smoothing) * (peak - static_cast<double>(of.matched));
      // Without smoothing logits may be minus infinity.
      if (shape.smoothing > 0) missed += shape.smoothing * (peak - mean);
    }
    if (!dlogits) continue;
    const L* const from = logits.row(r);
    D* const to = dlogits.row(r);
    const isize target = counts ? targets[r] - shape.first : -1;
    for (isize j = 0; j < logits.width; ++j) {
      const number probability = std::exp(static_cast<number>(from[j]) - of.peak) / of.sum;
      const number slope =
          probability - even - (j == target ? static_cast<number>(1 - shape.smoothing) : number(0));
      to[j] = static_cast<D>(counts ? slope * share : number(0));
    }
  }
  const double loss = detail::sum_over_team(ctx, missed) * shape.share;
  release(ctx, mark);
  return loss;
}

}  // namespace motet::cpu
