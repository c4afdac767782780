// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/losses/pair_tiles.hpp>

#include <cmath>

namespace motet::cpu {

namespace detail {

template <class S>
struct info_nce_part_kernel {
  static void add_to_row_sums(const pair_tile<S>& tile, S scale, S* peaks, S* sums, S* turns);
  static void turn_to_row_gradients(const pair_tile<S>& tile, S scale, S factor, const S* row_sums,
                                    const S* column_sums);
};

}  // namespace detail

// info_nce_loss spread over ranks, exactly, in two parts. First each rank finds, for its own rows of each
// side, the logarithm of the sum of the exponentials of their logits; one number a row. Then with those of
// the other side it has all that the gradients of its own rows need: no gradient of a row ever travels.
// Logits are made twice, and never all at once.

// Writes that number for each row, as a binary logarithm. Returns what the rows add to the loss by their own
// direction, and adds the gradient of that to dlog_scale. The parts of all rows of both sides make the whole.
template <class S, class M>
double info_nce_sums(context& ctx, const pair_part<S>& of, const M* log_scale, double share, S* row_sums,
                     M* dlog_scale) {
  const isize count = of.rows.rows;
  const double width = static_cast<double>(of.rows.width);
  ctx.note("info_nce_sums", 2 * static_cast<double>(count) * static_cast<double>(of.samples) * width,
           static_cast<double>(count + of.samples) * width * static_cast<double>(sizeof(S)),
           flops_of::products);
  const scratch_scope scope(ctx);
  const isize mark = ctx.memory.mark();
  S* const peaks = ctx.memory.take<S>(count);
  S* const sums = ctx.memory.take<S>(count);
  S* const turns = ctx.memory.take<S>(count);
  S* const matched = ctx.memory.take<S>(count);
  detail::part_walk<S> walk(ctx, of);
  if (ctx.measuring() || count == 0) {
    ctx.memory.release(mark);
    return 0;
  }
  constexpr double ln_2 = 1 / log2_e<double>;
  const double part = share / (2 * static_cast<double>(of.samples));
  const S scale = static_cast<S>(std::exp(static_cast<double>(*log_scale)) * log2_e<double>);
  const interval own = walk.own();
  for (isize i = own.begin; i < own.end; ++i) {
    peaks[i] = no_peak<S>;
    sums[i] = turns[i] = 0;
  }
  synchronize(ctx);  // features are in place

  walk.run({}, [&](const detail::pair_tile<S>& tile) {
    detail::info_nce_part_kernel<S>::add_to_row_sums(tile, scale, peaks + tile.row, sums + tile.row,
                                                     turns + tile.row);
    for (isize i = 0; i < tile.rows; ++i)
      if (tile.has_diagonal(i)) matched[tile.row + i] = tile.values[i * tile.stride + tile.diagonal(i)];
  });
  double missed = 0, turned = 0;
  for (isize i = own.begin; i < own.end; ++i) {
    // Differences first: for a large scale each term alone is far larger than what is left.
    const double sum = static_cast<double>(sums[i]),
                 above = static_cast<double>(peaks[i]) - static_cast<double>(matched[i]);
    missed += above + std::log2(sum);
    turned += above + static_cast<double>(turns[i]) / sum;
    row_sums[i] = static_cast<S>(static_cast<double>(peaks[i]) + std::log2(sum));
  }
  const double loss = detail::sum_over_team(ctx, missed) * part * ln_2;
  const double dscale = detail::sum_over_team(ctx, turned) * part * ln_2;
  if (dlog_scale != nullptr && ctx.thread == 0) *dlog_scale += static_cast<M>(dscale);
  release(ctx, mark);
  return loss;
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
  detail::part_walk<S> walk(ctx, of);
  if (ctx.measuring() || of.rows.rows == 0) return;
  const double exact_scale = std::exp(static_cast<double>(*log_scale)),
               part = share / (2 * static_cast<double>(of.samples));
  const S scale = static_cast<S>(exact_scale * log2_e<double>), factor = static_cast<S>(part * exact_scale);
  synchronize(ctx);  // all sums are in place
  walk.run(d_rows, [&](const detail::pair_tile<S>& tile) {
    detail::info_nce_part_kernel<S>::turn_to_row_gradients(tile, scale, factor, row_sums + tile.row,
                                                           column_sums + tile.column);
    for (isize i = 0; i < tile.rows; ++i)
      if (tile.has_diagonal(i)) tile.values[i * tile.stride + tile.diagonal(i)] -= 2 * factor;
  });
  synchronize(ctx);
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/losses/info_nce_part.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu::detail {

template <class S>
void info_nce_part_kernel<S>::add_to_row_sums(const pair_tile<S>& tile, S scale, S* peaks, S* sums,
                                              S* turns) {
  MOTET_SIMD_DISPATCH(, tiles::add_to_row_sums(tile, scale, peaks, sums, turns));
}
template <class S>
void info_nce_part_kernel<S>::turn_to_row_gradients(const pair_tile<S>& tile, S scale, S factor,
                                                    const S* row_sums, const S* column_sums) {
  MOTET_SIMD_DISPATCH(, tiles::turn_to_row_gradients(tile, scale, factor, row_sums, column_sums));
}

}  // namespace motet::cpu::detail
#endif
