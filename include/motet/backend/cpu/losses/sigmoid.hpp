// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/losses/pair_tiles.hpp>

#include <cmath>
#include <type_traits>

namespace motet::cpu::detail {

// A tile adds up the loss, its gradient by the bias, and its gradient by the logarithm of the scale.
struct sigmoid_sums {
  double missed = 0, shifted = 0, turned = 0;
};

// The pair of equal numbers, in the manner of the others; returns the gradient by the product of the rows,
// without the factor.
inline double sigmoid_of_match(double product, double bias, sigmoid_sums& sums) {
  const double wrong = -(product + bias), small = std::exp(-std::abs(wrong));
  sums.missed += (wrong > 0 ? wrong : 0) + std::log1p(small);
  const double slope = -(wrong > 0 ? 1 : small) / (1 + small);
  sums.shifted += slope;
  sums.turned += slope * product;
  return slope;
}

template <class S>
struct sigmoid_kernel {
  static void run(const pair_tile<S>& tile, S scale, S shift, S factor, sigmoid_sums& sums);
};

}  // namespace motet::cpu::detail

namespace motet::cpu {

namespace detail {

// Every tile of dot products becomes the gradients by them.
template <class S>
struct sigmoid_of_tile {
  double exact_scale, part;
  S scale, shift, factor;
  sigmoid_sums sums;

  template <class M>
  sigmoid_of_tile(const M* log_scale, const M* bias, double share, isize samples)
      : exact_scale(std::exp(static_cast<double>(*log_scale))),
        part(share / static_cast<double>(samples)),
        scale(static_cast<S>(exact_scale)),
        shift(static_cast<S>(*bias)),
        factor(static_cast<S>(part * exact_scale)) {}
  void operator()(const pair_tile<S>& tile) {
    S matches[pair_tile_rows];
    for (isize i = 0; i < tile.rows; ++i)
      if (tile.has_diagonal(i)) matches[i] = tile.values[i * tile.stride + tile.diagonal(i)];
    sigmoid_kernel<S>::run(tile, scale, shift, factor, sums);
    for (isize i = 0; i < tile.rows; ++i)
      if (tile.has_diagonal(i)) {
        const double slope =
            sigmoid_of_match(static_cast<double>(matches[i] * scale), static_cast<double>(shift), sums);
        tile.values[i * tile.stride + tile.diagonal(i)] = static_cast<S>(slope) * factor;
      }
  }
  // The loss of all threads; adds to the gradients of the numbers.
  template <class M>
  double finish(context& ctx, M* dlog_scale, M* dbias) const {
    const double loss = sum_over_team(ctx, sums.missed) * part;
    const double dscale = sum_over_team(ctx, sums.turned) * part;
    const double dshift = sum_over_team(ctx, sums.shifted) * part;
    if (ctx.thread == 0) {
      if (dlog_scale != nullptr) *dlog_scale += static_cast<M>(dscale);
      if (dbias != nullptr) *dbias += static_cast<M>(dshift);
    }
    synchronize(ctx);
    return loss;
  }
};

}  // namespace detail

// Pairwise sigmoid loss (Zhai et al., "Sigmoid loss for language image pre-training"): with logits
// exp(log_scale) a b^T + bias over all pairs of rows, minus the sum of log sigmoid(logit) on the diagonal and
// of log sigmoid(-logit) elsewhere, divided by the number of rows; times share. Adds the gradients to da, db,
// dlog_scale and dbias; with da, db none it only evaluates. One walk over the pairs, as no pair needs to know
// of another.
template <class A, class B, class M>
double pairwise_sigmoid_loss(context& ctx, matrix<A> a, matrix<B> b, const M* log_scale,
                             const std::type_identity_t<M>* bias, double share,
                             std::type_identity_t<matrix<std::remove_const_t<A>>> da,
                             std::type_identity_t<matrix<std::remove_const_t<B>>> db,
                             std::type_identity_t<M>* dlog_scale, std::type_identity_t<M>* dbias) {
  using S = std::remove_const_t<A>;
  static_assert(std::is_same_v<S, std::remove_const_t<B>> && std::is_floating_point_v<S>,
                "motet: the features of a loss are both float or both double");
  const isize samples = a.rows;
  const bool differentiate = da || db;
  const double pairs = static_cast<double>(samples) * static_cast<double>(samples),
               width = static_cast<double>(a.width);
  ctx.note("pairwise_sigmoid_loss", (differentiate ? 6 : 2) * pairs * width,
           (differentiate ? 4 : 2) * static_cast<double>(samples) * width * static_cast<double>(sizeof(S)),
           flops_of::products);

  const scratch_scope scope(ctx);
  detail::pair_walk<S> walk(ctx, a, b);
  if (ctx.measuring() || samples == 0) return 0;
  synchronize(ctx);  // features are in place

  detail::sigmoid_of_tile<S> on_tile(log_scale, bias, share, samples);
  walk.run(da, db, on_tile);
  return on_tile.finish(ctx, dlog_scale, dbias);
}

// A loss that is spread over ranks takes some rows against all columns: the result is what these pairs add to
// it; where wanted, they add to the gradients of the numbers and of these rows. The parts of all rows make
// the whole.
template <class S, class M>
double pairwise_sigmoid_part(context& ctx, const pair_part<S>& of, const M* log_scale, const M* bias,
                             double share, matrix<S> d_rows, M* dlog_scale, M* dbias) {
  const double pairs = static_cast<double>(of.rows.rows) * static_cast<double>(of.samples),
               width = static_cast<double>(of.rows.width);
  ctx.note("pairwise_sigmoid_part", (d_rows ? 4 : 2) * pairs * width,
           (static_cast<double>((d_rows ? 3 : 1) * of.rows.rows + of.samples)) * width *
               static_cast<double>(sizeof(S)),
           flops_of::products);
  const scratch_scope scope(ctx);
  detail::part_walk<S> walk(ctx, of);
  if (ctx.measuring() || of.rows.rows == 0) return 0;
  synchronize(ctx);  // features are in place
  detail::sigmoid_of_tile<S> on_tile(log_scale, bias, share, of.samples);
  walk.run(d_rows, on_tile);
  return on_tile.finish(ctx, dlog_scale, dbias);
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/losses/sigmoid.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu::detail {

template <class S>
void sigmoid_kernel<S>::run(const pair_tile<S>& tile, S scale, S shift, S factor, sigmoid_sums& sums) {
  MOTET_SIMD_DISPATCH(, tiles::sigmoid_of_others(tile, scale, shift, factor, sums));
}

}  // namespace motet::cpu::detail
#endif
