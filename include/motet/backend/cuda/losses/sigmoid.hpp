// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/losses/pair_tiles.hpp>

#include <cmath>
#include <type_traits>

namespace motet::cuda {

namespace detail {

// The loss of each pair of a panel and its gradient by their product. Each block adds up the loss, its
// gradient by the logarithm of the scale, and by the bias.
template <class S, class M>
struct sigmoid_slopes {
  static constexpr int most_threads = pair_threads;
  pair_block<S> of;
  const M *log_scale, *bias;
  double part;
  pair_panel<S> panel;  // or none
  double* parts;        // (blocks, 3)
  bool again;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize ti = of.tile_row(self.block()), tj = of.tile_column(self.block());
    pair_sums<S> sums =
        pair_product<false, false>(self, of.rows, ti * pair_tile, of.columns, tj * pair_tile, of.rows.width);
    double* const scratch = self.template shared<double>(warp_size);
    const pair_position at(self);
    const isize i = ti * pair_tile + at.row, j = tj * pair_tile + at.column;
    const double exact_scale = std::exp(static_cast<double>(*log_scale));
    const S scale = S(exact_scale), shift = S(*bias), factor = S(part * exact_scale);
    double missed = 0, turned = 0, shifted = 0;
    MOTET_UNROLLED
    for (int r = 0; r < pair_rows_each; ++r) {
      const bool is_row = i + r < of.rows.count;
      const isize match = is_row ? of.match(i + r) : -1;
      S missed_here = 0, turned_here = 0, shifted_here = 0;
      MOTET_UNROLLED
      for (int c = 0; c < pair_columns_each; ++c) {
        const bool is_pair = is_row && j + c < of.columns.count;
        // The formula is that of a pair that should not match; one that should has the other sign.
        const S sign = j + c == match ? S(-1) : S(1), product = sums.of[r][c] * scale,
                wrong = sign * (product + shift);
        const S small = std::exp(wrong > 0 ? -wrong : wrong);
        const S slope = is_pair ? sign * (wrong > 0 ? S(1) : small) / (1 + small) : S(0);
        missed_here += is_pair ? (wrong > 0 ? wrong : S(0)) + std::log1p(small) : S(0);
        shifted_here += slope;
        turned_here += is_pair ? slope * product : S(0);
        sums.of[r][c] = slope * factor;
      }
      missed += static_cast<double>(missed_here);
      turned += static_cast<double>(turned_here);
      shifted += static_cast<double>(shifted_here);
      if (panel.data != nullptr) panel.store(i + r, j, sums.of[r]);
    }
    missed = block_sum(self, missed, scratch);
    turned = block_sum(self, turned, scratch);
    shifted = block_sum(self, shifted, scratch);
    if (self.thread() != 0) return;
    double* const to = parts + 3 * self.block();
    to[0] = missed + (again ? to[0] : 0);
    to[1] = turned + (again ? to[1] : 0);
    to[2] = shifted + (again ? to[2] : 0);
  }
};

inline isize sigmoid_parts(isize rows, isize columns) {
  return 3 * tiles_of(least_of(rows, pair_panel_rows)) * tiles_of(columns);
}

template <class S, class M>
real walk_sigmoid(context& ctx, const pair_block<S>& all, const M* log_scale, const M* bias, double part,
                  const pair_panel<S>& panel, double* parts, matrix<S> d_rows, matrix<S> d_columns,
                  M* dlog_scale, M* dbias) {
  for (isize begin = 0; begin < all.rows.count; begin += pair_panel_rows) {
    const auto some = all.panel(begin);
    launch(ctx.stream(), {some.blocks(), pair_threads, pair_room<S> + block_scratch<double>},
           sigmoid_slopes<S, M>{some, log_scale, bias, part, panel, parts, begin > 0});
    add_slopes(ctx, panel, some, d_rows ? d_rows.slice(begin, some.rows.count) : d_rows, d_columns);
  }
  const real found = ctx.on->take_real();
  settle(ctx,
         settle_sums<M, 3>{parts, all.panel(0).blocks(), part, found.at(), {nullptr, dlog_scale, dbias}});
  return found;
}

}  // namespace detail

// Pairwise sigmoid loss (Zhai et al., "Sigmoid loss for language image pre-training"): with logits
// exp(log_scale) a b^T + bias over all pairs of rows, minus the sum of log sigmoid(logit) on the diagonal and
// of log sigmoid(-logit) elsewhere, divided by the number of rows; times share. Adds the gradients to da, db,
// dlog_scale and dbias; with da, db none it only evaluates. One walk over the pairs, as no pair needs to know
// of another: 6 samples^2 width FLOPs, the floor.
template <class A, class B, class M>
real pairwise_sigmoid_loss(context& ctx, matrix<A> a, matrix<B> b, const M* log_scale,
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
  double* const parts = ctx.scratch.template take<double>(detail::sigmoid_parts(samples, samples));
  const auto panel = differentiate ? detail::pair_panel<S>(ctx, samples, samples) : detail::pair_panel<S>();
  if (ctx.measuring() || samples == 0) return {};
  const detail::pair_block<S> all{detail::rows_in_order(a), detail::rows_in_order(b)};
  return detail::walk_sigmoid(ctx, all, log_scale, bias, share / static_cast<double>(samples), panel, parts,
                              da, db, dlog_scale, dbias);
}

// A loss that is spread over ranks takes some rows against all columns: the result is what these pairs add to
// it; where wanted, they add to the gradients of the numbers and of these rows. The parts of all rows make
// the whole.
template <class S, class M>
real pairwise_sigmoid_part(context& ctx, const pair_part<S>& of, const M* log_scale, const M* bias,
                           double share, matrix<S> d_rows, M* dlog_scale, M* dbias) {
  const double pairs = static_cast<double>(of.rows.rows) * static_cast<double>(of.samples),
               width = static_cast<double>(of.rows.width);
  ctx.note("pairwise_sigmoid_part", (d_rows ? 4 : 2) * pairs * width,
           (static_cast<double>((d_rows ? 3 : 1) * of.rows.rows + of.samples)) * width *
               static_cast<double>(sizeof(S)),
           flops_of::products);
  const scratch_scope scope(ctx);
  double* const parts = ctx.scratch.template take<double>(detail::sigmoid_parts(of.rows.rows, of.samples));
  const auto panel = d_rows ? detail::pair_panel<S>(ctx, of.rows.rows, of.samples) : detail::pair_panel<S>();
  const auto all = detail::block_of(ctx, of);
  if (ctx.measuring() || of.rows.rows == 0) return {};
  return detail::walk_sigmoid(ctx, all, log_scale, bias, share / static_cast<double>(of.samples), panel,
                              parts, d_rows, matrix<S>{}, dlog_scale, dbias);
}

}  // namespace motet::cuda
