// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/attention/attention_tile.hpp>
#include <motet/backend/cpu/device/context.hpp>

#include <algorithm>
#include <cmath>

// Scaled dot-product attention of ragged samples, in tiles with an online softmax (Dao, "FlashAttention-2"):
// the scores are never stored as a whole. Scratch is a few packed heads of the longest sample plus one tile.

namespace motet::cpu {

// y = softmax(scale q k^T) v for each sample and head; lse is the log of the sum of each softmax, for
// backward. A query that sees no key gets zeros. Samples are split over threads as kv_seq says.
template <class Q, class K, class V, class Y, class L>
void attention_forward(context& ctx, const sequences& q_seq, const sequences& kv_seq,
                       const attention_shape& shape, matrix<Q> q, matrix<K> k, matrix<V> v, matrix<Y> y,
                       matrix<L> lse) {
  using number = detail::attention_number<Q>;
  const double pairs = detail::attention_pairs(q_seq, kv_seq);
  const double width = static_cast<double>(shape.head_width), heads = static_cast<double>(shape.heads),
               kv_heads = static_cast<double>(shape.kv_heads);
  // Nothing is taken off for a causal mask, as is usual when efficiency is reported.
  ctx.note(
      "attention_forward", 4 * heads * width * pairs,
      static_cast<double>(sizeof(Q)) * width *
          (2 * heads * static_cast<double>(q_seq.rows()) + 2 * kv_heads * static_cast<double>(kv_seq.rows())),
      flops_of::attention);

  const scratch_scope scope(ctx);
  const detail::attention_recipe<number> recipe(kv_seq, shape);
  number* const values = ctx.scratch.take<number>(recipe.straight());  // (keys, padded)
  number* const transposed =
      ctx.scratch.take<number>(recipe.transposed());                      // (panels, width, keys of a panel)
  number* const past = ctx.scratch.take<number>(recipe.past_rows());      // (few, padded)
  number* const queries = ctx.scratch.take<number>(recipe.query_rows());  // (query tile, padded)
  number* const out = ctx.scratch.take<number>(recipe.query_rows());      // (query tile, padded)
  number* const scores = ctx.scratch.take<number>(recipe.scores());       // (query tile, key tile)
  number* const peak = ctx.scratch.take<number>(recipe.query_tile_limit);
  number* const sum = ctx.scratch.take<number>(recipe.query_tile_limit);
  number* const fade = ctx.scratch.take<number>(recipe.query_tile_limit);
  if (ctx.measuring() || shape.heads == 0) return;  // a part of a net may hold no head

  const number scale = detail::attention_scale<number>(shape);
  const isize group = shape.heads / shape.kv_heads;
  const interval own = ctx.own_samples(kv_seq);
  for (isize s = own.begin; s < own.end; ++s) {
    const isize q_begin = q_seq.begin(s), q_rows = q_seq.rows_of(s), kv_begin = kv_seq.begin(s),
                kv_rows = kv_seq.rows_of(s);
    for (isize kv_head = 0; kv_head < shape.kv_heads; ++kv_head) {
      detail::pack_head_transposed(k, kv_begin, kv_rows, kv_head * recipe.width, recipe, transposed);
      detail::pack_past_vectors(k, kv_begin, kv_rows, kv_head * recipe.width, recipe, past);
      detail::pack_head(v, kv_begin, kv_rows, kv_head * recipe.width, recipe, values);
      for (isize head = kv_head * group; head < (kv_head + 1) * group; ++head)
        for (isize i = 0; i < q_rows; i += recipe.query_tile) {
          const isize m = q_rows - i < recipe.query_tile ? q_rows - i : recipe.query_tile;
          const isize reach = detail::attention_reach(shape.mask, q_rows, kv_rows, i + m);
          detail::pack_head(q, q_begin + i, m, head * recipe.width, recipe, queries);
          for (isize r = 0; r < m; ++r) {
            peak[r] = no_peak<number>;
            sum[r] = 0;
          }
          for (isize j = 0; j < reach; j += recipe.key_tile) {
            const isize n = reach - j < recipe.key_tile ? reach - j : recipe.key_tile;
            detail::multiply_by_head(m, n, queries, transposed, past, j, kv_rows, recipe, scores);
            tiles::softmax(m, n, detail::attention_visible(shape.mask, q_rows, kv_rows, i, j),
                           scale * log2_e<number>, scores, recipe.tile_row, peak, sum, fade);
            if (j > 0) tiles::scale_rows(m, recipe.padded, fade, out, recipe.padded);
            tiles::multiply(m, recipe.padded, n, scores, recipe.tile_row, 1, values + j * recipe.padded,
                            recipe.padded, out, recipe.padded, j > 0);
          }
          if (reach == 0) std::fill_n(out, m * recipe.padded, number(0));
          for (isize r = 0; r < m; ++r) {
            const bool blind = sum[r] == 0;
            lse.row(q_begin + i + r)[head] =
                blind ? L(0) : static_cast<L>((peak[r] + std::log2(sum[r])) / log2_e<number>);
            sum[r] = blind ? number(0) : 1 / sum[r];
          }
          detail::unpack_head(out, m, sum, recipe, y, q_begin + i, head * recipe.width);
        }
    }
  }
}

// Gradients of the above, with the probabilities recomputed from q, k and lse. dq, dk and dv may be the
// memory of q, k and v: a tile of q and the head's k and v are packed before anything is written over them.
template <class Q, class K, class V, class Y, class L, class G, class DQ, class DK, class DV>
void attention_backward(context& ctx, const sequences& q_seq, const sequences& kv_seq,
                        const attention_shape& shape, matrix<Q> q, matrix<K> k, matrix<V> v, matrix<Y> y,
                        matrix<L> lse, matrix<G> dy, matrix<DQ> dq, matrix<DK> dk, matrix<DV> dv) {
  using number = detail::attention_number<Q>;
  const double pairs = detail::attention_pairs(q_seq, kv_seq);
  const double width = static_cast<double>(shape.head_width), heads = static_cast<double>(shape.heads),
               kv_heads = static_cast<double>(shape.kv_heads);
  ctx.note(
      "attention_backward", 10 * heads * width * pairs,
      static_cast<double>(sizeof(Q)) * width *
          (4 * heads * static_cast<double>(q_seq.rows()) + 4 * kv_heads * static_cast<double>(kv_seq.rows())),
      flops_of::attention);

  const scratch_scope scope(ctx);
  const detail::attention_recipe<number> recipe(kv_seq, shape);
  number* const keys = ctx.scratch.take<number>(recipe.straight());  // (keys, padded)
  // (panels, width, keys of a panel)
  number* const keys_across = ctx.scratch.take<number>(recipe.transposed());
  // (panels, width, keys of a panel)
  number* const values_across = ctx.scratch.take<number>(recipe.transposed());
  number* const past_values = ctx.scratch.take<number>(recipe.past_rows());  // (few, padded)
  number* const dkeys = ctx.scratch.take<number>(recipe.straight());         // (keys, padded)
  number* const dvalues = ctx.scratch.take<number>(recipe.straight());       // (keys, padded)
  number* const queries = ctx.scratch.take<number>(recipe.query_rows());     // (query tile, padded)
  number* const douts = ctx.scratch.take<number>(recipe.query_rows());       // (query tile, padded)
  number* const dqueries = ctx.scratch.take<number>(recipe.query_rows());    // (query tile, padded)
  number* const scores = ctx.scratch.take<number>(recipe.scores());          // (query tile, key tile)
  number* const dscores = ctx.scratch.take<number>(recipe.scores());         // (query tile, key tile)
  number* const logs = ctx.scratch.take<number>(recipe.query_tile_limit);
  number* const delta = ctx.scratch.take<number>(recipe.query_tile_limit);
  if (ctx.measuring() || shape.heads == 0) return;  // a part of a net may hold no head

  const number scale = detail::attention_scale<number>(shape);
  const number* const none = nullptr;
  const isize group = shape.heads / shape.kv_heads, row = recipe.padded;
  const interval own = ctx.own_samples(kv_seq);
  for (isize s = own.begin; s < own.end; ++s) {
    const isize q_begin = q_seq.begin(s), q_rows = q_seq.rows_of(s), kv_begin = kv_seq.begin(s),
                kv_rows = kv_seq.rows_of(s);
    const isize past = recipe.past_vectors(kv_rows);
    for (isize kv_head = 0; kv_head < shape.kv_heads; ++kv_head) {
      detail::pack_head(k, kv_begin, kv_rows, kv_head * recipe.width, recipe, keys);
      detail::pack_head_transposed(k, kv_begin, kv_rows, kv_head * recipe.width, recipe, keys_across);
      detail::pack_head_transposed(v, kv_begin, kv_rows, kv_head * recipe.width, recipe, values_across);
      detail::pack_past_vectors(v, kv_begin, kv_rows, kv_head * recipe.width, recipe, past_values);
      // the first tile of queries writes the gradients of all keys, unless it does not see all
      bool add = false;
      if (detail::attention_reach(shape.mask, q_rows, kv_rows, std::min(recipe.query_tile, q_rows)) <
              kv_rows ||
          q_rows == 0) {
        std::fill_n(dkeys, kv_rows * row, number(0));
        std::fill_n(dvalues, kv_rows * row, number(0));
        add = true;
      }
      for (isize head = kv_head * group; head < (kv_head + 1) * group; ++head)
        for (isize i = 0; i < q_rows; i += recipe.query_tile) {
          const isize m = q_rows - i < recipe.query_tile ? q_rows - i : recipe.query_tile;
          const isize reach = detail::attention_reach(shape.mask, q_rows, kv_rows, i + m);
          detail::pack_head(q, q_begin + i, m, head * recipe.width, recipe, queries);
          detail::pack_head(dy, q_begin + i, m, head * recipe.width, recipe, douts);
          tiles::dot_rows(m, recipe.width, douts, row, y.row(q_begin + i) + head * recipe.width, y.stride,
                          delta);
          for (isize r = 0; r < m; ++r)
            logs[r] = static_cast<number>(lse.row(q_begin + i + r)[head]) * log2_e<number>;
          if (reach == 0) std::fill_n(dqueries, m * row, number(0));
          for (isize j = 0; j < reach; j += recipe.key_tile) {
            const isize n = reach - j < recipe.key_tile ? reach - j : recipe.key_tile,
                        tile_row = recipe.tile_row;
            detail::multiply_by_head(m, n, queries, keys_across, keys + (kv_rows - past) * row, j, kv_rows,
                                     recipe, scores);
            detail::multiply_by_head(m, n, douts, values_across, past_values, j, kv_rows, recipe, dscores);
            const auto visible = detail::attention_visible(shape.mask, q_rows, kv_rows, i, j);
            tiles::softmax_backward(m, n, visible, scale * log2_e<number>, scale, logs, delta, scores,
                                    dscores, tile_row);
            tiles::multiply(n, row, m, scores, 1, tile_row, douts, row, dvalues + j * row, row, add);
            tiles::multiply(n, row, m, dscores, 1, tile_row, queries, row, dkeys + j * row, row, add);
            tiles::multiply(m, row, n, dscores, tile_row, 1, keys + j * row, row, dqueries, row, j > 0);
          }
          add = true;
          detail::unpack_head(dqueries, m, none, recipe, dq, q_begin + i, head * recipe.width);
        }
      detail::unpack_head(dkeys, kv_rows, none, recipe, dk, kv_begin, kv_head * recipe.width);
      detail::unpack_head(dvalues, kv_rows, none, recipe, dv, kv_begin, kv_head * recipe.width);
    }
  }
}

}  // namespace motet::cpu
