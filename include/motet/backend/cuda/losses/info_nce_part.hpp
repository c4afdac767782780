// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/losses/info_nce.hpp>

namespace motet::cuda {

// info_nce_loss spread over ranks, exactly, in two parts. First each rank finds, for its own rows of each
// side, the logarithm of the sum of the exponentials of their logits; one number a row. Then with those of
// the other side it has all that the gradients of its own rows need: no gradient of a row ever travels.
// Logits are made twice, and never all at once: 6 rows samples width FLOPs.

// Writes that number for each row, as a binary logarithm. Returns what the rows add to the loss by their own
// direction, and adds the gradient of that to dlog_scale. The parts of all rows of both sides make the whole.
template <class S, class M>
real info_nce_sums(context& ctx, const pair_part<S>& of, const M* log_scale, double share, S* row_sums,
                   M* dlog_scale) {
  const isize count = of.rows.rows;
  const double width = static_cast<double>(of.rows.width);
  ctx.note("info_nce_sums", 2 * static_cast<double>(count) * static_cast<double>(of.samples) * width,
           static_cast<double>(count + of.samples) * width * static_cast<double>(sizeof(S)),
           flops_of::products);
  const scratch_scope scope(ctx);
  const detail::softmax_numbers<S> rows(ctx, count);
  const detail::softmax_walk<S> walk(ctx, count, of.samples, false);
  const auto all = detail::block_of(ctx, of);
  if (ctx.measuring() || count == 0) return {};
  walk.template add<false>(ctx, all, log_scale, rows, {});
  const isize parts = walk.complete(ctx, rows, count, row_sums, false);
  const real found = ctx.on->take_real();
  const double part = share / (2 * static_cast<double>(of.samples));
  settle(ctx, settle_sums<M, 2>{walk.missed, parts, part * detail::ln_2, found.at(), {nullptr, dlog_scale}});
  return found;
}

// Adds to d_rows the gradient of the whole loss, both directions, from the numbers of these rows and of all
// columns.
template <class S, class M>
void info_nce_gradients(context& ctx, const pair_part<S>& of, const M* log_scale, double share,
                        const S* row_sums, const S* column_sums, matrix<S> d_rows) {
  const double width = static_cast<double>(of.rows.width);
  ctx.note("info_nce_gradients",
           4 * static_cast<double>(of.rows.rows) * static_cast<double>(of.samples) * width,
           static_cast<double>(3 * of.rows.rows + of.samples) * width * static_cast<double>(sizeof(S)),
           flops_of::products);
  const scratch_scope scope(ctx);
  const detail::pair_panel<S> panel(ctx, of.rows.rows, of.samples);
  const auto all = detail::block_of(ctx, of);
  if (ctx.measuring() || of.rows.rows == 0) return;
  const double part = share / (2 * static_cast<double>(of.samples));
  const S* const none = nullptr;
  for (isize begin = 0; begin < all.rows.count; begin += detail::pair_panel_rows) {
    const auto some = all.panel(begin);
    launch(ctx.stream(), {some.blocks(), detail::pair_threads, detail::pair_room<S>},
           detail::info_nce_slopes<S, M>{some, log_scale, part, row_sums + begin, none, column_sums, none,
                                         panel});
    detail::add_slopes(ctx, panel, some, d_rows.slice(begin, some.rows.count), matrix<S>{});
  }
}

}  // namespace motet::cuda
