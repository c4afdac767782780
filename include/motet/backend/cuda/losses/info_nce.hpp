// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/losses/pair_tiles.hpp>

#include <type_traits>

namespace motet::cuda {

namespace detail {

// Each row has the sum of the exponentials of its logits as 2^peak * sum, and `turn`, the sum of each times
// (logit - peak). Logits are binary.
template <class S>
struct softmax_numbers {
  S *peak = nullptr, *sum = nullptr, *turn = nullptr;
  isize stride = 0;  // where there are several for each row
  softmax_numbers() = default;
  softmax_numbers(context& ctx, isize rows, isize parts = 1)
      : peak(ctx.scratch.template take<S>(rows * parts)),
        sum(ctx.scratch.template take<S>(rows * parts)),
        turn(ctx.scratch.template take<S>(rows * parts)),
        stride(rows) {}
  MOTET_HOST_DEVICE void write(isize at, S its_peak, S its_sum, S its_turn) const {
    peak[at] = its_peak;
    sum[at] = its_sum;
    turn[at] = its_turn;
  }
};

// Adds one such sum to another, both to the higher peak.
template <class S>
MOTET_HOST_DEVICE void add_softmax(S& peak, S& sum, S& turn, S peak2, S sum2, S turn2) {
  const S top = peak < peak2 ? peak2 : peak, down = peak - top, down2 = peak2 - top;
  const S fade = std::exp2(down), fade2 = std::exp2(down2);
  turn = (turn + down * sum) * fade + (turn2 + down2 * sum2) * fade2;
  sum = sum * fade + sum2 * fade2;
  peak = top;
}

// Sums of the part of each row, and, if wanted, of each column, that half a tile has: of 32 logits. They need
// nothing but shuffles within a warp.
template <class S, class M, bool Columns>
struct pair_softmax {
  static constexpr int most_threads = pair_threads;
  pair_block<S> of;
  const M* log_scale;
  softmax_numbers<S> row_parts, column_parts;
  S* matched;  // of each row the logit of its match
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize ti = of.tile_row(self.block()), tj = of.tile_column(self.block());
    pair_sums<S> logits =
        pair_product<false, false>(self, of.rows, ti * pair_tile, of.columns, tj * pair_tile, of.rows.width);
    const pair_position at(self);
    const isize i = ti * pair_tile + at.row, j = tj * pair_tile + at.column;
    const S scale = S(std::exp(static_cast<double>(*log_scale)) * log2_e<double>);
    const larger more;
    const plus both;
    MOTET_UNROLLED
    for (int r = 0; r < pair_rows_each; ++r) {
      const isize match = i + r < of.rows.count ? of.match(i + r) : -1;
      S peak = no_peak<S>, sum = 0, turn = 0;
      MOTET_UNROLLED
      for (int c = 0; c < pair_columns_each; ++c) {
        const S logit = logits.of[r][c] * scale;
        logits.of[r][c] = logit;
        if (j + c >= of.columns.count) continue;
        peak = more(peak, logit);
        if (j + c == match) matched[i + r] = logit;
      }
      peak = over_lanes(self, peak, 1, pair_row_lanes, more);
      MOTET_UNROLLED
      for (int c = 0; c < pair_columns_each; ++c) {
        if (j + c >= of.columns.count) continue;
        const S below = logits.of[r][c] - peak, power = std::exp2(below);
        sum += power;
        turn += power * below;
      }
      sum = over_lanes(self, sum, 1, pair_row_lanes, both);
      turn = over_lanes(self, turn, 1, pair_row_lanes, both);
      if (self.lane() % pair_row_lanes == 0 && i + r < of.rows.count)
        row_parts.write((2 * tj + at.column_half) * row_parts.stride + i + r, peak, sum, turn);
    }
    if constexpr (Columns) {
      MOTET_UNROLLED
      for (int c = 0; c < pair_columns_each; ++c) {
        S peak = no_peak<S>, sum = 0, turn = 0;
        MOTET_UNROLLED
        for (int r = 0; r < pair_rows_each; ++r)
          if (i + r < of.rows.count) peak = more(peak, logits.of[r][c]);
        peak = over_lanes(self, peak, pair_row_lanes, warp_size, more);
        MOTET_UNROLLED
        for (int r = 0; r < pair_rows_each; ++r) {
          if (i + r >= of.rows.count) continue;
          const S below = logits.of[r][c] - peak, power = std::exp2(below);
          sum += power;
          turn += power * below;
        }
        sum = over_lanes(self, sum, pair_row_lanes, warp_size, both);
        turn = over_lanes(self, turn, pair_row_lanes, warp_size, both);
        if (self.lane() < pair_row_lanes && j + c < of.columns.count)
          column_parts.write((2 * ti + at.row_half) * column_parts.stride + j + c, peak, sum, turn);
      }
    }
  }
};

// The sums of rows from those of their parts, in the order of parts; added to what is there, unless this is
// the first.
template <class S>
struct merge_softmax {
  static constexpr int most_threads = 256, rows_each = 32, groups = most_threads / rows_each;
  softmax_numbers<S> parts;
  isize count, rows;
  softmax_numbers<S> to;
  bool again;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    S* const found = self.template shared<S>(3 * most_threads);
    const int group = self.thread() / rows_each, thread = self.thread();
    const isize row = self.block() * rows_each + thread % rows_each;
    S peak = no_peak<S>, sum = 0, turn = 0;
    if (row < rows)
      for (isize p = group; p < count; p += groups) {
        const isize at = p * parts.stride + row;
        add_softmax(peak, sum, turn, parts.peak[at], parts.sum[at], parts.turn[at]);
      }
    found[thread] = peak;
    found[most_threads + thread] = sum;
    found[2 * most_threads + thread] = turn;
    self.barrier();
    if (group > 0 || row >= rows) return;
    for (int g = 1; g < groups; ++g) {
      const int at = g * rows_each + thread;
      add_softmax(peak, sum, turn, found[at], found[most_threads + at], found[2 * most_threads + at]);
    }
    if (again) add_softmax(peak, sum, turn, to.peak[row], to.sum[row], to.turn[row]);
    to.write(row, peak, sum, turn);
  }
};

// Once the sums of some rows are complete: what they add to the loss and to its gradient by the logarithm of
// the scale, and what the gradients of rows need: the binary logarithm of the sum where it is told to others,
// else one over the sum in its place.
template <class S>
struct complete_softmax {
  static constexpr int most_threads = 256;
  softmax_numbers<S> of;
  const S* matched;
  isize rows;
  S* told;
  double* parts;  // (blocks, 2)
  bool again;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    double* const scratch = self.template shared<double>(warp_size);
    double missed = 0, turned = 0;
    for (isize i = self.number(); i < rows; i += self.all()) {
      // Differences first: for a large scale each term alone is far larger than what is left.
      const double sum = static_cast<double>(of.sum[i]),
                   above = static_cast<double>(of.peak[i]) - static_cast<double>(matched[i]);
      const double log = std::log2(sum);
      missed += above + log;
      turned += above + static_cast<double>(of.turn[i]) / sum;
      if (told != nullptr) told[i] = S(static_cast<double>(of.peak[i]) + log);
      else of.sum[i] = S(1 / sum);
    }
    missed = block_sum(self, missed, scratch);
    turned = block_sum(self, turned, scratch);
    if (self.thread() != 0) return;
    parts[2 * self.block()] = missed + (again ? parts[2 * self.block()] : 0);
    parts[2 * self.block() + 1] = turned + (again ? parts[2 * self.block() + 1] : 0);
  }
};

// The gradients by the products of a panel: softmax along the row plus softmax along the column, less two for
// a match, times the scale's part.
template <class S, class M>
struct info_nce_slopes {
  static constexpr int most_threads = pair_threads;
  pair_block<S> of;
  const M* log_scale;
  double part;
  // no factors: of sums whose logarithm the peak is
  const S *row_peak, *row_factor, *column_peak, *column_factor;
  pair_panel<S> panel;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize ti = of.tile_row(self.block()), tj = of.tile_column(self.block());
    pair_sums<S> sums =
        pair_product<false, false>(self, of.rows, ti * pair_tile, of.columns, tj * pair_tile, of.rows.width);
    const pair_position at(self);
    const isize i = ti * pair_tile + at.row, j = tj * pair_tile + at.column;
    const double exact_scale = std::exp(static_cast<double>(*log_scale));
    const S scale = S(exact_scale * log2_e<double>), factor = S(part * exact_scale);
    S peaks[pair_columns_each] = {}, factors[pair_columns_each] = {};
    MOTET_UNROLLED
    for (int c = 0; c < pair_columns_each; ++c) {
      if (j + c >= of.columns.count) continue;
      peaks[c] = column_peak[j + c];
      factors[c] = column_factor != nullptr ? column_factor[j + c] : S(1);
    }
    MOTET_UNROLLED
    for (int r = 0; r < pair_rows_each; ++r) {
      const bool is_row = i + r < of.rows.count;
      const S peak = is_row ? row_peak[i + r] : S(0),
              own = is_row && row_factor != nullptr ? row_factor[i + r] : S(1);
      const isize match = is_row ? of.match(i + r) : -1;
      MOTET_UNROLLED
      for (int c = 0; c < pair_columns_each; ++c) {
        const S logit = sums.of[r][c] * scale;
        const S weight = std::exp2(logit - peak) * own + std::exp2(logit - peaks[c]) * factors[c];
        sums.of[r][c] =
            is_row && j + c < of.columns.count ? (j + c == match ? weight - 2 : weight) * factor : S(0);
      }
      panel.store(i + r, j, sums.of[r]);
    }
  }
};

// The sums of the parts of a panel have room here, and are added up.
template <class S>
struct softmax_walk {
  softmax_numbers<S> row_parts, column_parts;
  S* matched;
  double* missed;
  static constexpr isize most_blocks = 256;

  softmax_walk(context& ctx, isize rows, isize columns, bool both)
      : row_parts(ctx, least_of(pair_panel_rows, tiles_of(rows) * pair_tile), 2 * tiles_of(columns)),
        matched(ctx.scratch.template take<S>(rows)),
        missed(ctx.scratch.template take<double>(2 * most_blocks)) {
    if (both)
      column_parts = {ctx, tiles_of(columns) * pair_tile, 2 * tiles_of(least_of(pair_panel_rows, rows))};
  }
  template <bool Columns, class M>
  void add(context& ctx, const pair_block<S>& whole, const M* log_scale, const softmax_numbers<S>& rows,
           const softmax_numbers<S>& columns) const {
    for (isize begin = 0; begin < whole.rows.count; begin += pair_panel_rows) {
      const pair_block<S> some = whole.panel(begin);
      launch(ctx.stream(), {some.blocks(), pair_threads, pair_room<S>},
             pair_softmax<S, M, Columns>{some, log_scale, row_parts, column_parts, matched + begin});
      softmax_numbers<S> here = rows;
      here.peak += begin;
      here.sum += begin;
      here.turn += begin;
      merge(ctx, {row_parts, 2 * tiles_of(some.columns.count), some.rows.count, here, false});
      if (Columns)
        merge(ctx, {column_parts, 2 * tiles_of(some.rows.count), some.columns.count, columns, begin > 0});
    }
  }
  // Returns how many parts of the loss there are.
  isize complete(context& ctx, const softmax_numbers<S>& of, isize rows, S* told, bool again) const {
    const isize blocks = blocks_for(rows, 256, most_blocks);
    launch(ctx.stream(), {blocks, 256, block_scratch<double>},
           complete_softmax<S>{of, matched, rows, told, missed, again});
    return blocks;
  }

 private:
  static void merge(context& ctx, const merge_softmax<S>& kernel) {
    using of = merge_softmax<S>;
    launch(ctx.stream(),
           {(kernel.rows + of::rows_each - 1) / of::rows_each, of::most_threads,
            3 * of::most_threads * static_cast<isize>(sizeof(S))},
           kernel);
  }
};

inline constexpr double ln_2 = 1 / log2_e<double>;

// Kernel by kernel: a panel is a product for the sums, of which rows and columns are merged, and another for
// the slopes, which two more products take to the gradients. Features are read for each product once.
template <class S>
void note_info_nce(context& ctx, isize samples, double width, bool differentiate) {
  const double bytes = static_cast<double>(sizeof(S)), all = static_cast<double>(samples);
  for (isize begin = 0; begin < samples; begin += pair_panel_rows) {
    const double some = static_cast<double>(least_of(pair_panel_rows, samples - begin)),
                 flops = 2 * some * all * width;
    const double features = (some + all) * width * bytes, panel = some * all * bytes;
    ctx.note("info_nce_loss", flops, features, flops_of::products);
    for (const double sums : {some, all}) ctx.note("merge_softmax", 0, 3 * sums * bytes);
    if (!differentiate) continue;
    ctx.note("info_nce_slopes", flops, features + panel, flops_of::products);
    for (const double sums : {some, all})
      ctx.note("add_slopes", flops, panel + (some + all + sums) * width * bytes, flops_of::products);
  }
  if (samples == 0) return;
  for (int i = 0; i < 2; ++i) ctx.note("complete_softmax", 0, 3 * all * bytes);
  note_settled(ctx);
}

}  // namespace detail

// Symmetric InfoNCE (CLIP): logits = exp(log_scale) a b^T over all pairs of rows, and the mean of the two
// cross-entropies, along rows and along columns, whose targets are the diagonal; times share. Adds the
// gradients to da, db and dlog_scale; with da, db none it only evaluates. Each logit is made once for the
// sums and once more for the gradients: 8 samples^2 width FLOPs, the floor. Memory is O(rows). Each row keeps
// its peak and the sum of what is left, so that a large scale neither overflows nor costs precision.
template <class A, class B, class M>
real info_nce_loss(context& ctx, matrix<A> a, matrix<B> b, const M* log_scale, double share,
                   std::type_identity_t<matrix<std::remove_const_t<A>>> da,
                   std::type_identity_t<matrix<std::remove_const_t<B>>> db,
                   std::type_identity_t<M>* dlog_scale) {
  using S = std::remove_const_t<A>;
  static_assert(std::is_same_v<S, std::remove_const_t<B>> && std::is_floating_point_v<S>,
                "motet: the features of a loss are both float or both double");
  const isize samples = a.rows;
  const bool differentiate = da || db || dlog_scale != nullptr;
  const double width = static_cast<double>(a.width);
  detail::note_info_nce<S>(ctx, samples, width, differentiate);

  const scratch_scope scope(ctx);
  const detail::softmax_numbers<S> rows(ctx, samples), columns(ctx, samples);
  const isize mark = ctx.scratch.mark();
  const detail::softmax_walk<S> walk(ctx, samples, samples, true);
  real found;
  const double part = share / (2 * static_cast<double>(samples));
  const detail::pair_block<S> all{detail::rows_in_order(a), detail::rows_in_order(b)};
  if (!ctx.measuring() && samples > 0) {
    walk.template add<true>(ctx, all, log_scale, rows, columns);
    walk.complete(ctx, rows, samples, nullptr, false);
    const isize parts = walk.complete(ctx, columns, samples, nullptr, true);
    found = ctx.on->take_real();
    settle(ctx,
           settle_sums<M, 2>{walk.missed, parts, part * detail::ln_2, found.at(), {nullptr, dlog_scale}});
  }
  if (!da && !db) return found;
  ctx.scratch.release(mark);
  const detail::pair_panel<S> panel(ctx, samples, samples);
  if (ctx.measuring()) return found;
  for (isize begin = 0; begin < samples; begin += detail::pair_panel_rows) {
    const auto some = all.panel(begin);
    launch(ctx.stream(), {some.blocks(), detail::pair_threads, detail::pair_room<S>},
           detail::info_nce_slopes<S, M>{some, log_scale, part, rows.peak + begin, rows.sum + begin,
                                         columns.peak, columns.sum, panel});
    detail::add_slopes(ctx, panel, some, da ? da.slice(begin, some.rows.count) : da, db);
  }
  return found;
}

}  // namespace motet::cuda
