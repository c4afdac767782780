// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/attention/attention.hpp>
#include <motet/backend/cpu/attention/rotary.hpp>
#include <motet/backend/cpu/products/continued_linear.hpp>

#include <cassert>

// Attention and positions ask which rows came before. These are for the rows of one sample that follow those
// in a cache.
namespace motet::cpu {

// The first row's position is the number of rows before it.
template <class T, class X>
void rotary(continued_context<T>& ctx, const sequences& seq, isize head_width, const rotary_angles& angles,
            int direction, matrix<X> x) {
  ctx.note("rotary", 3 * elements_in(x), 2 * bytes_in(x));
  const scratch_scope scope(ctx);
  detail::rotary_turns<X> turns(ctx, head_width, angles, direction);
  if (ctx.measuring() || ctx.own(seq).size() == 0) return;
  turns.turn(x, ctx.past(x.rows));
}

template <class T, class M, class X>
void position_forward(continued_context<T>& ctx, const sequences& seq, matrix<M> table, matrix<X> x) {
  ctx.note("position_forward", elements_in(x), 2 * bytes_in(x));
  if (ctx.measuring() || ctx.own(seq).size() == 0) return;
  assert(ctx.past(x.rows) + x.rows <= table.rows);
  sum_rows(x, table.slice(ctx.past(x.rows), x.rows), x);
}

namespace detail {

// A head of a single row, which sees all keys: they are read where they lie.
template <class Q, class K, class Y, class S>
void attend_with_row(const Q* query, matrix<K> keys, matrix<K> values, S scale, S* wide, S* scores, Y* y) {
  const isize width = keys.width;
  S peak = no_peak<S>, total = 0, fade = 0;
  tiles::pack(1, width, query, width, wide, round_up(width, tile_lanes<S>));
  tiles::dot_rows(keys.rows, width, wide, 0, keys.data, keys.stride, scores);
  tiles::softmax(1, keys.rows, visible_columns{keys.rows, 0}, scale * log2_e<S>, scores,
                 round_up(keys.rows, tile_lanes<S>), &peak, &total, &fade);
  kernel_of<weighed_rows_kernel, S, K>::run(keys.rows, width, scores, values.data, values.stride, wide);
  const S factor = 1 / total;
  tiles::unpack(1, width, static_cast<const S*>(wide), width, &factor, y, width);
}

}  // namespace detail

// [all] Keys and values go into the cache; the rows attend to all that is there, by heads.
template <class T, class Q, class K, class V, class Y, class L>
void attention_forward(continued_context<T>& ctx, const sequences& seq, const sequences&,
                       const attention_shape& shape, matrix<Q> q, matrix<K> k, matrix<V> v, matrix<Y> y,
                       matrix<L> lse) {
  using number = detail::attention_number<Q>;
  const isize rows = q.rows, past = ctx.past(rows), seen = past + rows, width = shape.head_width,
              group = shape.heads / shape.kv_heads, layer = ctx.layer++;
  assert(layer < ctx.cache->layers() && shape.kv_heads == ctx.cache->heads() &&
         width == ctx.cache->head_width() && shape.mask == mask_kind::causal &&
         seen <= ctx.cache->capacity());
  const double moved = static_cast<double>(seen * shape.kv_heads + rows * shape.heads);
  ctx.note(
      "attention_forward",
      4 * static_cast<double>(shape.heads * width) * static_cast<double>(rows) * static_cast<double>(seen),
      2 * static_cast<double>(sizeof(Q)) * static_cast<double>(width) * moved, flops_of::attention);
  const scratch_scope scope(ctx);
  number* const wide = ctx.scratch.template take<number>(round_up(width, tile_lanes<number>));
  number* const scores =
      ctx.scratch.template take<number>(rows == 1 ? round_up(seen, tile_lanes<number>) : 0);
  if (!ctx.measuring()) {
    // Each thread stores the rows that it made.
    const interval made = ctx.own(seq);
    for (isize h = 0; h < shape.kv_heads; ++h) {
      const auto store = [&](auto from, matrix<T> to) {
        convert_rows(part_of(from.columns(h * width, width), made), to.slice(past + made.begin, made.size()));
      };
      store(k, ctx.cache->keys(layer, h));
      store(v, ctx.cache->values(layer, h));
    }
    synchronize(ctx);
  }
  const interval own = ctx.own(shape.heads, 1);
  // This thread computes as if it were alone with its heads.
  context alone = ctx;
  alone.crew = nullptr;
  alone.costs = nullptr;
  alone.thread = 0;
  alone.threads = 1;
  for (isize head = own.begin; head < own.end;) {
    const isize of = head / group, end = std::min(own.end, (of + 1) * group), count = end - head;
    const matrix<T> keys = ctx.cache->keys(layer, of).slice(0, seen),
                    values = ctx.cache->values(layer, of).slice(0, seen);
    if (rows > 1) {
      attention_forward(alone, {1, rows, nullptr}, {1, seen, nullptr},
                        {count, 1, width, shape.mask, shape.scale}, q.columns(head * width, count * width),
                        keys, values, y.columns(head * width, count * width), lse.columns(head, count));
    } else if (!ctx.measuring()) {
      for (isize h = head; h < end; ++h)
        detail::attend_with_row(static_cast<const std::remove_const_t<Q>*>(q.data) + h * width, keys, values,
                                detail::attention_scale<number>(shape), wide, scores, y.data + h * width);
    }
    head = end;
  }
  ctx.scratch = alone.scratch;
  synchronize(ctx);
}

}  // namespace motet::cpu
