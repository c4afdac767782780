// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/attention/ring_parts.hpp>

// Attention over rows that are cut between the members of the context group, with keys and values going round
// (Liu et al., "Ring Attention"): a member sees one part of them at a time, while the next is on its way.
// Each part is one attention of a rank by itself; results are joined by their lse, in the order of the ring,
// so they have the same bits on every run.

namespace motet::cuda {

// q, k, v, y and lse hold the rows of this part, of all samples; all else is as in attention_forward.
template <class T, class Y, class L>
void ring_attention_forward(context& ctx, const attention_shape& shape, matrix<T> q, matrix<T> k, matrix<T> v,
                            matrix<Y> y, matrix<L> lse) {
  using value = std::remove_const_t<T>;
  using number = arithmetic<value>;
  const isize mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  detail::attention_ring ring(ctx, shape);
  ctx.note("ring_attention_forward", 4 * static_cast<double>(q.width) * ring.pairs(),
           2 * (bytes_in(q) + static_cast<double>(ring.members) * bytes_in(k)), flops_of::attention);
  const detail::unnoted_scope unnoted(ctx);
  const isize rows = ring.is.part.rows(), heads = shape.heads, key_width = k.width, most = ring.most_rows();
  value* here = ctx.memory.take<value>(most * 2 * key_width);            // (rows of a part, keys | values)
  value* next = ctx.memory.take<value>(most * 2 * key_width);            // likewise, on its way
  value* const few_keys = ctx.memory.take<value>(most * 2 * key_width);  // likewise, of one piece
  value* const few_queries = ctx.memory.take<value>(rows * q.width);     // (rows, heads), of the second piece
  value* const found = ctx.memory.take<value>(rows * q.width);           // (rows, heads), for some keys
  number* const found_lse = ctx.memory.take<number>(rows * heads);       // (rows, heads)
  number* const sum = ctx.memory.take<number>(rows * q.width);           // (rows, heads)
  number* const sum_lse = ctx.memory.take<number>(rows * heads);         // (rows, heads)
  number* const weights = ctx.memory.take<number>(2 * rows * heads);     // before | now
  std::int32_t* const query_room = ctx.memory.take<std::int32_t>(rows);
  std::int32_t* const key_room = ctx.memory.take<std::int32_t>(most);
  const bool runs = !ctx.measuring() && heads > 0;

  ring_shift shift(ctx, ring.is);
  const std::int32_t* second = nullptr;
  if (runs) {
    const matrix<value> own{here, rows, 2 * key_width, 2 * key_width};
    convert_rows(ctx, k, own.columns(0, key_width));
    convert_rows(ctx, v, own.columns(key_width, key_width));
    if (ring.is.cut.balanced) {
      second = detail::find_piece_rows(ring, ring.me, detail::ring_rows::second, query_room);
      const isize count = ring.rows(ring.me, detail::ring_rows::second).rows();
      detail::rows_at(ctx, second, q, matrix<value>{few_queries, count, q.width, q.width});
    }
  }
  for (isize step = 0; step < ring.members; ++step) {
    const isize from = ring.part_at(step), key_rows = ring.rows_of(from);
    if (runs && step + 1 < ring.members)
      shift.begin(ctx, here, key_rows * 2 * key_width, next,
                  ring.rows_of(ring.part_at(step + 1)) * 2 * key_width);
    const auto meet = ring.with(from);
    if (meet.queries != detail::ring_rows::none) {
      const sequences queries = ring.rows(ring.me, meet.queries), keys = ring.rows(from, meet.keys);
      matrix<const value> all{here, key_rows, 2 * key_width, 2 * key_width};
      if (runs && meet.keys != detail::ring_rows::all) {
        const matrix<value> few{few_keys, keys.rows(), 2 * key_width, 2 * key_width};
        detail::rows_at(ctx, detail::find_piece_rows(ring, from, meet.keys, key_room), all, few);
        all = few;
      }
      attention_shape part = shape;
      part.mask = meet.mask;
      const isize count = queries.rows();
      const bool some = meet.queries == detail::ring_rows::second;
      const matrix<const value> asking =
          some ? matrix<const value>{few_queries, count, q.width, q.width} : matrix<const value>(q);
      const matrix<value> out{found, count, q.width, q.width};
      const matrix<number> out_lse{found_lse, count, heads, heads};
      attention_forward(ctx, queries, keys, part, asking, all.columns(0, key_width),
                        all.columns(key_width, key_width), out, out_lse);
      if (runs) {
        const std::int32_t* const positions = some ? second : nullptr;
        const row_walk walk(count * heads, shape.head_width);
        launch(ctx.stream(), {blocks_for(count * heads, 256), 256, 0},
               detail::ring_weights_kernel<number>{ring.on_gpu(queries), ring.on_gpu(keys), positions, count,
                                                   heads, step == 0, found_lse, sum_lse, weights,
                                                   weights + rows * heads});
        launch(ctx.stream(), walk.shape(),
               detail::ring_combine_kernel<value, number>{positions, walk, heads, step == 0, found, sum,
                                                          weights, weights + rows * heads});
      }
    }
    const section_scope section(ctx, "wait for keys");
    shift.finish();
    std::swap(here, next);
  }
  if (runs) {
    convert_rows(ctx, matrix<const number>{sum, rows, q.width, q.width}, y);
    convert_rows(ctx, matrix<const number>{sum_lse, rows, heads, heads}, lse);
  }
  release(ctx, mark);
}

// Gradients of the above. Those of keys and values go round with them, adding up, and come home when all
// members have added to; dq, dk and dv may be the memory of q, k and v.
template <class T, class Y, class L, class G, class D>
void ring_attention_backward(context& ctx, const attention_shape& shape, matrix<T> q, matrix<T> k,
                             matrix<T> v, matrix<Y> y, matrix<L> lse, matrix<G> dy, matrix<D> dq,
                             matrix<D> dk, matrix<D> dv) {
  using value = std::remove_const_t<T>;
  using number = arithmetic<value>;
  const isize mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  detail::attention_ring ring(ctx, shape);
  ctx.note("ring_attention_backward", 10 * static_cast<double>(q.width) * ring.pairs(),
           4 * (bytes_in(q) + static_cast<double>(ring.members) * bytes_in(k)), flops_of::attention);
  const detail::unnoted_scope unnoted(ctx);
  const isize rows = ring.is.part.rows(), heads = shape.heads, key_width = k.width, both = 2 * key_width,
              most = ring.most_rows();
  value* here = ctx.memory.take<value>(most * both);            // (rows of a part, keys | values)
  value* next = ctx.memory.take<value>(most * both);            // likewise, on its way
  value* const few_keys = ctx.memory.take<value>(most * both);  // likewise, of one piece
  // (rows of a part, keys | values), gradients for some queries
  value* const found_keys = ctx.memory.take<value>(most * both);
  number* dkeys = ctx.memory.take<number>(most * both);               // likewise, added up here
  number* leaving = ctx.memory.take<number>(most * both);             // likewise, of the part before
  number* const arriving = ctx.memory.take<number>(most * both);      // likewise, what others have added up
  value* const few_queries = ctx.memory.take<value>(rows * q.width);  // (rows, heads), of the second piece
  value* const few_y = ctx.memory.take<value>(rows * q.width);        // likewise
  value* const few_dy = ctx.memory.take<value>(rows * q.width);       // likewise
  number* const few_lse = ctx.memory.take<number>(rows * heads);      // likewise
  value* const found = ctx.memory.take<value>(rows * q.width);        // (rows, heads), from some keys
  number* const dqueries = ctx.memory.take<number>(rows * q.width);   // (rows, heads)
  std::int32_t* const query_room = ctx.memory.take<std::int32_t>(rows);
  std::int32_t* const key_room = ctx.memory.take<std::int32_t>(most);
  const bool runs = !ctx.measuring() && heads > 0;
  const auto clear = [&](number* at, isize count) {
    if (count > 0)
      check(cudaMemsetAsync(at, 0, as_size(count) * sizeof(number), ctx.stream()), "cudaMemsetAsync");
  };

  ring_shift shift(ctx, ring.is), sums(ctx, ring.is);
  const std::int32_t* second = nullptr;
  if (runs) {
    const matrix<value> own{here, rows, both, both};
    convert_rows(ctx, k, own.columns(0, key_width));
    convert_rows(ctx, v, own.columns(key_width, key_width));
    clear(dqueries, rows * q.width);
    if (ring.is.cut.balanced) {
      second = detail::find_piece_rows(ring, ring.me, detail::ring_rows::second, query_room);
      const isize count = ring.rows(ring.me, detail::ring_rows::second).rows();
      detail::rows_at(ctx, second, q, matrix<value>{few_queries, count, q.width, q.width});
      detail::rows_at(ctx, second, y, matrix<value>{few_y, count, q.width, q.width});
      detail::rows_at(ctx, second, dy, matrix<value>{few_dy, count, q.width, q.width});
      detail::rows_at(ctx, second, lse, matrix<number>{few_lse, count, heads, heads});
    }
  }
  for (isize step = 0; step < ring.members; ++step) {
    const isize from = ring.part_at(step), key_rows = ring.rows_of(from);
    if (runs && step + 1 < ring.members)
      shift.begin(ctx, here, key_rows * both, next, ring.rows_of(ring.part_at(step + 1)) * both);
    if (runs) clear(dkeys, key_rows * both);
    const auto meet = ring.with(from);
    if (meet.queries != detail::ring_rows::none) {
      const sequences queries = ring.rows(ring.me, meet.queries), keys = ring.rows(from, meet.keys);
      matrix<const value> all{here, key_rows, both, both};
      const std::int32_t* key_positions = nullptr;
      if (runs && meet.keys != detail::ring_rows::all) {
        const matrix<value> few{few_keys, keys.rows(), both, both};
        key_positions = detail::find_piece_rows(ring, from, meet.keys, key_room);
        detail::rows_at(ctx, key_positions, all, few);
        all = few;
      }
      attention_shape part = shape;
      part.mask = meet.mask;
      const isize count = queries.rows();
      const bool some = meet.queries == detail::ring_rows::second;
      const auto of = [&](auto whole, auto* few, isize width) {
        using element = std::remove_pointer_t<decltype(few)>;
        return some ? matrix<const element>{few, count, width, width}
                    : matrix<const element>{whole.data, count, width, whole.stride};
      };
      const matrix<value> to_q{found, count, q.width, q.width}, to_keys{found_keys, keys.rows(), both, both};
      attention_backward(ctx, queries, keys, part, of(q, few_queries, q.width), all.columns(0, key_width),
                         all.columns(key_width, key_width), of(y, few_y, q.width), of(lse, few_lse, heads),
                         of(dy, few_dy, q.width), to_q, to_keys.columns(0, key_width),
                         to_keys.columns(key_width, key_width));
      if (runs) {
        detail::add_at(ctx, some ? second : nullptr, to_q, dqueries);
        detail::add_at(ctx, key_positions, to_keys, dkeys);
      }
    }
    {
      const section_scope section(ctx, "wait for keys");
      shift.finish();
      std::swap(here, next);
      sums.finish();
    }
    if (!runs) continue;
    if (step > 0) detail::add_at(ctx, nullptr, matrix<number>{arriving, key_rows, both, both}, dkeys);
    // After the last step they are home.
    sums.begin(ctx, dkeys, key_rows * both, arriving, ring.rows_of(ring.part_at(step + 1)) * both);
    std::swap(dkeys, leaving);
  }
  sums.finish();
  if (runs) {
    const matrix<const number> home{arriving, rows, both, both};
    convert_rows(ctx, matrix<const number>{dqueries, rows, q.width, q.width}, dq);
    convert_rows(ctx, home.columns(0, key_width), dk);
    convert_rows(ctx, home.columns(key_width, key_width), dv);
  }
  release(ctx, mark);
}

}  // namespace motet::cuda
