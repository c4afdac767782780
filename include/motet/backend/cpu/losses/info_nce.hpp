// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/losses/pair_tiles.hpp>

#include <cmath>
#include <limits>
#include <type_traits>

namespace motet::cpu {

namespace detail {

template <class S>
struct info_nce_kernel {
  static void add_to_sums(const pair_tile<S>& tile, S scale, S* row_peaks, S* row_sums, S* column_peaks,
                          S* column_sums);
  static double turn_to_gradients(const pair_tile<S>& tile, S scale, S factor, const S* row_peaks,
                                  const S* row_factors, const S* column_peaks, const S* column_factors);
};

// Each row of one side has the sum of the exponentials of its logits as 2^peak * sum. Once complete, `sum`
// becomes one over the sum.
template <class S>
struct softmax_sums {
  S *peak, *sum;
  softmax_sums(context& ctx, isize samples)
      : peak(ctx.memory.take<S>(samples)), sum(ctx.memory.take<S>(samples)) {}
  void clear(interval rows) const {
    for (isize i = rows.begin; i < rows.end; ++i) {
      peak[i] = no_peak<S>;
      sum[i] = 0;
    }
  }
  // The sum of the binary logarithms of the sums.
  double complete(interval rows) const {
    double total = 0;
    for (isize i = rows.begin; i < rows.end; ++i) {
      total += static_cast<double>(peak[i]) + std::log2(static_cast<double>(sum[i]));
      sum[i] = 1 / sum[i];
    }
    return total;
  }
};

}  // namespace detail

// Symmetric InfoNCE (CLIP): logits = exp(log_scale) a b^T over all pairs of rows, and the mean of the two
// cross-entropies, along rows and along columns, whose targets are the diagonal; times share. Adds the
// gradients to da, db and dlog_scale; with da, db none it only evaluates.
// Memory is O(rows): each logit is made once for the sums and once more for the gradients. Each row keeps its
// peak and the sum of what is left, so that a large scale neither overflows nor costs precision.
template <class A, class B, class M>
double info_nce_loss(context& ctx, matrix<A> a, matrix<B> b, const M* log_scale, double share,
                     std::type_identity_t<matrix<std::remove_const_t<A>>> da,
                     std::type_identity_t<matrix<std::remove_const_t<B>>> db,
                     std::type_identity_t<M>* dlog_scale) {
  using S = std::remove_const_t<A>;
  static_assert(std::is_same_v<S, std::remove_const_t<B>> && std::is_floating_point_v<S>,
                "motet: the features of a loss are both float or both double");
  const isize samples = a.rows;
  const bool differentiate = da || db || dlog_scale != nullptr;
  const double pairs = static_cast<double>(samples) * static_cast<double>(samples),
               width = static_cast<double>(a.width);
  ctx.note("info_nce_loss", (differentiate ? 8 : 2) * pairs * width,
           (differentiate ? 6 : 2) * static_cast<double>(samples) * width * static_cast<double>(sizeof(S)),
           flops_of::products);

  const scratch_scope scope(ctx);
  const isize mark = ctx.memory.mark();
  const detail::softmax_sums<S> rows(ctx, samples), columns(ctx, samples);
  detail::pair_walk<S> walk(ctx, a, b);
  if (ctx.measuring() || samples == 0) {
    ctx.memory.release(mark);
    return 0;
  }

  using tile_type = detail::pair_tile<S>;
  constexpr double ln_2 = 1 / log2_e<double>;
  const double exact_scale = std::exp(static_cast<double>(*log_scale)),
               part = share / (2 * static_cast<double>(samples));
  const S scale = static_cast<S>(exact_scale * log2_e<double>), factor = static_cast<S>(part * exact_scale);
  const interval own = walk.own();
  rows.clear(own);
  columns.clear(own);
  synchronize(ctx);  // features and sums are in place

  double matched = 0;  // sum of the diagonal
  walk.run({}, {}, [&](const tile_type& tile) {
    detail::info_nce_kernel<S>::add_to_sums(tile, scale, rows.peak + tile.row, rows.sum + tile.row,
                                            columns.peak + tile.column, columns.sum + tile.column);
    for (isize i = 0; i < tile.rows; ++i)
      if (tile.has_diagonal(i))
        matched += static_cast<double>(tile.values[i * tile.stride + tile.diagonal(i)]);
  });
  const double missed = rows.complete(own) + columns.complete(own) - 2 * matched;
  const double loss = detail::sum_over_team(ctx, missed) * part * ln_2;
  synchronize(ctx);  // all sums are complete

  if (differentiate) {
    double turned = 0;
    walk.run(da, db, [&](const tile_type& tile) {
      for (isize i = 0; i < tile.rows; ++i)
        if (tile.has_diagonal(i))
          turned -= 2 * static_cast<double>(tile.values[i * tile.stride + tile.diagonal(i)] * scale);
      turned += detail::info_nce_kernel<S>::turn_to_gradients(tile, scale, factor, rows.peak + tile.row,
                                                              rows.sum + tile.row, columns.peak + tile.column,
                                                              columns.sum + tile.column);
      for (isize i = 0; i < tile.rows; ++i)
        if (tile.has_diagonal(i)) tile.values[i * tile.stride + tile.diagonal(i)] -= 2 * factor;
    });
    const double dscale = detail::sum_over_team(ctx, turned) * part * ln_2;
    if (dlog_scale != nullptr && ctx.thread == 0) *dlog_scale += static_cast<M>(dscale);
  }
  release(ctx, mark);
  return loss;
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/losses/info_nce.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu::detail {

template <class S>
void info_nce_kernel<S>::add_to_sums(const pair_tile<S>& tile, S scale, S* row_peaks, S* row_sums,
                                     S* column_peaks, S* column_sums) {
  MOTET_SIMD_DISPATCH(, tiles::add_to_sums(tile, scale, row_peaks, row_sums, column_peaks, column_sums));
}
template <class S>
double info_nce_kernel<S>::turn_to_gradients(const pair_tile<S>& tile, S scale, S factor, const S* row_peaks,
                                             const S* row_factors, const S* column_peaks,
                                             const S* column_factors) {
  double turned = 0;
  MOTET_SIMD_DISPATCH(turned =, tiles::turn_to_gradients(tile, scale, factor, row_peaks, row_factors,
                                                         column_peaks, column_factors));
  return turned;
}

}  // namespace motet::cpu::detail
#endif
