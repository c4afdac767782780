// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/attention/ring_parts.hpp>

// Attention over rows that are cut between the members of the context group, with keys and values going round
// (Liu et al., "Ring Attention"): a member sees one part of them at a time, while the next is on its way.
// Samples that stay whole meet their own keys where they are.
// Sums are taken in the order of the ring, so results have the same bits on every run.

namespace motet::cpu {

// q, k, v, y and lse hold the rows of this part, of all samples; all else is as in attention_forward.
template <class T, class Y, class L>
void ring_attention_forward(context& ctx, const attention_shape& shape, matrix<T> q, matrix<T> k, matrix<T> v,
                            matrix<Y> y, matrix<L> lse) {
  using number = detail::attention_number<T>;
  const isize mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const detail::attention_ring<number> ring(ctx, shape);
  const auto& recipe = ring.recipe;
  ctx.note("ring_attention_forward", 4 * static_cast<double>(q.width) * ring.pairs(),
           2 * (bytes_in(q) + static_cast<double>(ring.members) * bytes_in(k)), flops_of::attention);
  const isize rows = ring.rows, heads = ring.groups.heads;
  detail::key_ring<std::remove_const_t<T>> around(ctx, ring);
  // (heads, rows, padded), not yet divided by the sums
  number* const outs = ctx.memory.take<number>(heads * rows * recipe.padded);
  number* const peaks = ctx.memory.take<number>(heads * rows);         // (heads, rows)
  number* const sums = ctx.memory.take<number>(heads * rows);          // (heads, rows)
  number* const values = ctx.scratch.take<number>(recipe.straight());  // (keys, padded)
  // (panels, width, keys of a panel)
  number* const transposed = ctx.scratch.take<number>(recipe.transposed());
  number* const past = ctx.scratch.take<number>(recipe.past_rows());      // (few, padded)
  number* const queries = ctx.scratch.take<number>(recipe.query_rows());  // (query tile, padded)
  number* const scores = ctx.scratch.take<number>(recipe.scores());       // (query tile, key tile)
  number* const fade = ctx.scratch.take<number>(recipe.query_tile_limit);
  if (ctx.measuring()) return ctx.memory.release(mark);

  const interval own = ctx.own(ring.is.part);
  for (isize head = 0; head < heads; ++head) {
    std::fill_n(outs + (head * rows + own.begin) * recipe.padded, own.size() * recipe.padded, number(0));
    std::fill_n(peaks + head * rows + own.begin, own.size(), no_peak<number>);
    std::fill_n(sums + head * rows + own.begin, own.size(), number(0));
  }
  // Queries of this member meet these keys of a sample, which lie from a row on in a matrix of keys.
  const auto meet = [&](isize sample, interval seen, auto keys, auto vectors, isize key_row) {
    for (isize kv = 0; kv < ring.groups.kv_heads; ++kv) {
      const isize column = kv * recipe.width;
      detail::pack_head_transposed(keys, key_row, seen.size(), column, recipe, transposed);
      detail::pack_past_vectors(keys, key_row, seen.size(), column, recipe, past);
      detail::pack_head(vectors, key_row, seen.size(), column, recipe, values);
      const interval readers = ring.groups.readers(kv);
      for (isize head = readers.begin; head < readers.end; ++head)
        ring.each_tile(sample, seen, [&](const detail::ring_tile& tile) {
          const isize m = tile.count, at = head * rows + tile.row;
          number* const out = outs + at * recipe.padded;
          detail::pack_head(q, tile.row, m, head * recipe.width, recipe, queries);
          for (isize j = 0; j < tile.reach; j += recipe.key_tile) {
            const isize n = tile.reach - j < recipe.key_tile ? tile.reach - j : recipe.key_tile;
            detail::multiply_by_head(m, n, queries, transposed, past, j, seen.size(), recipe, scores);
            tiles::softmax(m, n, {tile.visible.first - j, tile.visible.step}, ring.scale * log2_e<number>,
                           scores, recipe.tile_row, peaks + at, sums + at, fade);
            tiles::scale_rows(m, recipe.padded, fade, out, recipe.padded);
            tiles::multiply(m, recipe.padded, n, scores, recipe.tile_row, 1, values + j * recipe.padded,
                            recipe.padded, out, recipe.padded, true);
          }
        });
      around.poll();
    }
  };
  around.fill(ctx, ring, k, v);
  for (isize step = 0; step < ring.members; ++step) {
    around.begin(ctx, ring, step);
    if (step == 0)
      ring.each_whole(ctx, [&](isize sample, interval seen, isize) {
        meet(sample, seen, k, v, ring.is.part.begin(sample));
      });
    ring.each_keys(ctx, ring.part_at(step), [&](isize sample, interval seen, isize key_row) {
      meet(sample, seen, around.keys(), around.values(), key_row);
    });
    const section_scope section(ctx, "wait for keys");
    synchronize(ctx);
    around.finish();
    synchronize(ctx);
  }
  for (isize head = 0; head < heads; ++head) {
    number* const sum = sums + head * rows;
    for (isize r = own.begin; r < own.end; ++r) {
      lse.row(r)[head] = static_cast<L>((peaks[head * rows + r] + std::log2(sum[r])) / log2_e<number>);
      sum[r] = 1 / sum[r];
    }
    detail::unpack_head(outs + (head * rows + own.begin) * recipe.padded, own.size(), sum + own.begin, recipe,
                        y, own.begin, head * recipe.width);
  }
  release(ctx, mark);
}

// Gradients of the above. Keys and values go round once more, and their gradients follow them, a sum that
// each member adds to; dq, dk and dv may be the memory of q, k and v.
template <class T, class Y, class L, class G, class D>
void ring_attention_backward(context& ctx, const attention_shape& shape, matrix<T> q, matrix<T> k,
                             matrix<T> v, matrix<Y> y, matrix<L> lse, matrix<G> dy, matrix<D> dq,
                             matrix<D> dk, matrix<D> dv) {
  using number = detail::attention_number<T>;
  const isize mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const detail::attention_ring<number> ring(ctx, shape);
  const auto& recipe = ring.recipe;
  ctx.note("ring_attention_backward", 10 * static_cast<double>(q.width) * ring.pairs(),
           4 * (bytes_in(q) + static_cast<double>(ring.members) * bytes_in(k)), flops_of::attention);
  const isize rows = ring.rows, heads = ring.groups.heads, kv_heads = ring.groups.kv_heads,
              row = recipe.padded;
  detail::key_ring<std::remove_const_t<T>> around(ctx, ring);
  const isize most = 2 * kv_heads * ring.most_rows() * row;
  // (2, kv heads, rows of a part, padded): gradients of keys, then of values
  number* dkeys = ctx.memory.take<number>(most);
  number* leaving = ctx.memory.take<number>(most);  // likewise, of the part before
  // likewise, what others have added up
  number* const arriving = ctx.memory.take<number>(most);
  const isize whole_rows = ring.is.rows_whole;
  // likewise, of samples that stay whole
  number* const staying = ctx.memory.take<number>(2 * kv_heads * whole_rows * row);
  number* const dqueries = ctx.memory.take<number>(heads * rows * row);  // (heads, rows, padded)
  ring_shift sums(ctx, ring.is);
  number* const keys_straight = ctx.scratch.take<number>(recipe.straight());  // (keys, padded)
  // (panels, width, keys of a panel)
  number* const keys_across = ctx.scratch.take<number>(recipe.transposed());
  // (panels, width, keys of a panel)
  number* const values_across = ctx.scratch.take<number>(recipe.transposed());
  number* const past_values = ctx.scratch.take<number>(recipe.past_rows());  // (few, padded)
  number* const queries = ctx.scratch.take<number>(recipe.query_rows());     // (query tile, padded)
  number* const douts = ctx.scratch.take<number>(recipe.query_rows());       // (query tile, padded)
  number* const scores = ctx.scratch.take<number>(recipe.scores());          // (query tile, key tile)
  number* const dscores = ctx.scratch.take<number>(recipe.scores());         // (query tile, key tile)
  number* const logs = ctx.scratch.take<number>(recipe.query_tile_limit);
  number* const delta = ctx.scratch.take<number>(recipe.query_tile_limit);
  if (ctx.measuring()) return ctx.memory.release(mark);

  const interval own = ctx.own(ring.is.part);
  for (isize head = 0; head < heads; ++head)
    std::fill_n(dqueries + (head * rows + own.begin) * row, own.size() * row, number(0));
  // Queries of this member meet these keys of a sample, which lie from a row on in a matrix of keys, and
  // their gradients from a row on in one of so many rows for each head: those of keys, behind them those of
  // values.
  const auto meet = [&](isize sample, interval seen, auto keys, auto vectors, isize key_row, number* sums_of,
                        isize sum_rows, isize sum_row) {
    const isize past = recipe.past_vectors(seen.size());
    for (isize kv = 0; kv < kv_heads; ++kv) {
      const isize column = kv * recipe.width;
      detail::pack_head(keys, key_row, seen.size(), column, recipe, keys_straight);
      detail::pack_head_transposed(keys, key_row, seen.size(), column, recipe, keys_across);
      detail::pack_head_transposed(vectors, key_row, seen.size(), column, recipe, values_across);
      detail::pack_past_vectors(vectors, key_row, seen.size(), column, recipe, past_values);
      number* const dk_here = sums_of + (kv * sum_rows + sum_row) * row;
      number* const dv_here = sums_of + ((kv_heads + kv) * sum_rows + sum_row) * row;
      const interval readers = ring.groups.readers(kv);
      for (isize head = readers.begin; head < readers.end; ++head)
        ring.each_tile(sample, seen, [&](const detail::ring_tile& tile) {
          const isize m = tile.count, tile_row = recipe.tile_row;
          number* const dq_here = dqueries + (head * rows + tile.row) * row;
          detail::pack_head(q, tile.row, m, head * recipe.width, recipe, queries);
          detail::pack_head(dy, tile.row, m, head * recipe.width, recipe, douts);
          tiles::dot_rows(m, recipe.width, douts, row, y.row(tile.row) + head * recipe.width, y.stride,
                          delta);
          for (isize r = 0; r < m; ++r)
            logs[r] = static_cast<number>(lse.row(tile.row + r)[head]) * log2_e<number>;
          for (isize j = 0; j < tile.reach; j += recipe.key_tile) {
            const isize n = tile.reach - j < recipe.key_tile ? tile.reach - j : recipe.key_tile;
            detail::multiply_by_head(m, n, queries, keys_across, keys_straight + (seen.size() - past) * row,
                                     j, seen.size(), recipe, scores);
            detail::multiply_by_head(m, n, douts, values_across, past_values, j, seen.size(), recipe,
                                     dscores);
            tiles::softmax_backward(m, n, {tile.visible.first - j, tile.visible.step},
                                    ring.scale * log2_e<number>, ring.scale, logs, delta, scores, dscores,
                                    tile_row);
            tiles::multiply(n, row, m, scores, 1, tile_row, douts, row, dv_here + j * row, row, true);
            tiles::multiply(n, row, m, dscores, 1, tile_row, queries, row, dk_here + j * row, row, true);
            tiles::multiply(m, row, n, dscores, tile_row, 1, keys_straight + j * row, row, dq_here, row,
                            true);
          }
        });
      around.poll();
      sums.poll();
    }
  };
  around.fill(ctx, ring, k, v);
  for (isize step = 0; step < ring.members; ++step) {
    const isize from = ring.part_at(step), key_rows = ring.rows_of(from);
    const interval own_keys = ring.own_rows(ctx, from);
    around.begin(ctx, ring, step);
    for (isize h = 0; h < 2 * kv_heads; ++h)
      std::fill_n(dkeys + (h * key_rows + own_keys.begin) * row, own_keys.size() * row, number(0));
    if (step == 0)
      ring.each_whole(ctx, [&](isize sample, interval seen, isize before) {
        for (isize h = 0; h < 2 * kv_heads; ++h)
          std::fill_n(staying + (h * whole_rows + before) * row, seen.size() * row, number(0));
        meet(sample, seen, k, v, ring.is.part.begin(sample), staying, whole_rows, before);
      });
    ring.each_keys(ctx, from, [&](isize sample, interval seen, isize key_row) {
      meet(sample, seen, around.keys(), around.values(), key_row, dkeys, key_rows, key_row);
    });
    {
      const section_scope section(ctx, "wait for keys");
      synchronize(ctx);
      around.finish();
      sums.finish();
      synchronize(ctx);
    }
    if (step > 0)
      for (isize h = 0; h < 2 * kv_heads; ++h)
        for (isize i = (h * key_rows + own_keys.begin) * row; i < (h * key_rows + own_keys.end) * row; ++i)
          dkeys[i] += arriving[i];
    synchronize(ctx);
    // After the last step they are home.
    sums.begin(ctx, dkeys, 2 * kv_heads * key_rows * row, arriving,
               2 * kv_heads * ring.rows_of(ring.part_at(step + 1)) * row);
    std::swap(dkeys, leaving);
  }
  sums.finish();
  synchronize(ctx);
  const number* const none = nullptr;
  for (isize head = 0; head < heads; ++head)
    detail::unpack_head(dqueries + (head * rows + own.begin) * row, own.size(), none, recipe, dq, own.begin,
                        head * recipe.width);
  const auto hand_out = [&](const number* from, isize of_head, isize at, isize count, isize to) {
    for (isize kv = 0; kv < kv_heads; ++kv) {
      detail::unpack_head(from + (kv * of_head + at) * row, count, none, recipe, dk, to, kv * recipe.width);
      detail::unpack_head(from + ((kv_heads + kv) * of_head + at) * row, count, none, recipe, dv, to,
                          kv * recipe.width);
    }
  };
  ring.each_cut(ctx, [&](isize to, isize at, isize count) {
    hand_out(arriving, ring.rows_of(ring.me), at, count, to);
  });
  ring.each_whole(ctx, [&](isize sample, interval all, isize before) {
    hand_out(staying, whole_rows, before, all.size(), ring.is.part.begin(sample));
  });
  release(ctx, mark);
}

}  // namespace motet::cpu
