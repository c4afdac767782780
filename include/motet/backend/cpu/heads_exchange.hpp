// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/attention.hpp>
#include <motet/backend/cpu/rows_exchange.hpp>
#include <motet/backend/head_groups.hpp>
#include <motet/nn/context_attention.hpp>

// Attention over rows that are cut between the members of the context group, by an exchange of rows for heads (Jacobs et al., "DeepSpeed Ulysses"): a
// member gets all rows of its share of the heads, computes them as a rank by itself would, and gives the rows back.

namespace motet::cpu {
namespace detail {

// The memory and the counts of an exchange between (rows of the part, all heads) and (all rows, heads of a member).
template <class T>
struct heads_transfer {
  const spread& is;
  head_columns cut;
  index me, width;        // of this member's heads
  matrix<T> part, whole;  // what goes over the wire: by member (each has its own width), and by part
  std::span<index> part_bytes, whole_bytes;

  heads_transfer(context& ctx, const head_columns& columns) : is(*ctx.shared), cut(columns), me(is.context.member()), width(cut.width(me)) {
    const index elements = is.part.rows() * cut.width_of_all();
    part = {ctx.memory.take<T>(elements), 1, elements, elements};
    whole = {ctx.memory.take<T>(is.whole.rows() * width), is.whole.rows(), width, width};
    index* const room = ctx.scratch.take<index>(2 * cut.members);
    if (ctx.measuring()) return;
    const auto count = static_cast<std::size_t>(cut.members);
    part_bytes = {room, count};
    whole_bytes = {room + cut.members, count};
    for (std::size_t m = 0; m < count; ++m) {
      part_bytes[m] = is.part.rows() * cut.width(static_cast<index>(m)) * static_cast<index>(sizeof(T));
      whole_bytes[m] = is.cut.rows_of(is.whole, static_cast<index>(m)) * width * static_cast<index>(sizeof(T));
    }
  }
  // Where columns of piece p of a row of all heads are on the wire, for a member that has them.
  matrix<T> at(index member, index p, interval columns) const {
    index before = 0, first = columns.begin - cut.piece(member, p).begin;
    for (index m = 0; m < member; ++m) before += is.part.rows() * cut.width(m);
    for (index q = 0; q < p; ++q) first += cut.piece(member, q).size();
    return {part.data + before + first, is.part.rows(), columns.size(), cut.width(member)};
  }
  // Calls move(rows of whole samples, the same rows on the wire).
  template <class M, class Move>
  void each_row(context& ctx, matrix<M> x, Move&& move) const {
    for (index b = 0, before = 0; b < cut.members; before += is.cut.rows_of(is.whole, b), ++b)
      each_piece(is.cut, b, is.whole, ctx.own_samples(is.whole),
                 [&](index row, index at, index count) { move(x.slice(row, count), whole.slice(before + at, count)); });
  }
};

// y (all rows, heads of this member) = x (rows of the part, all heads)
template <class X, class Y>
void rows_to_heads(context& ctx, const head_columns& cut, matrix<X> x, matrix<Y> y) {
  const section_scope section(ctx, "exchange heads");
  ctx.note(0, bytes_in(x) + bytes_in(y));
  const index mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const heads_transfer<Y> wire(ctx, cut);
  if (!ctx.measuring()) {
    const interval own = ctx.own(wire.is.part);
    for (index m = 0; m < cut.members; ++m)
      for (index p = 0; p < cut.pieces(); ++p) {
        const interval columns = cut.piece(m, p);
        convert_rows(part(x, own).columns(columns.begin, columns.size()), part(wire.at(m, p, columns), own));
      }
    synchronize(ctx);
    if (ctx.thread == 0)
      wire.is.context.all_to_all(reinterpret_cast<const std::byte*>(wire.part.data), wire.part_bytes, reinterpret_cast<std::byte*>(wire.whole.data),
                                 wire.whole_bytes);
    synchronize(ctx);
    wire.each_row(ctx, y, [](matrix<Y> to, matrix<Y> from) { convert_rows(from, to); });
  }
  release(ctx, mark);
}

// y = the sum over the members that have these columns, of which this is the first; sums are taken in `row`.
template <class T>
void sum_of_members(const heads_transfer<T>& wire, index p, interval columns, index first, interval rows, arithmetic<T>* row, matrix<T> y) {
  const matrix<T> to = part(y, rows).columns(columns.begin, columns.size());
  const auto has = [&](index m) { return m < wire.cut.members && wire.cut.piece(m, p).size() > 0 && wire.cut.piece(m, p).begin <= columns.begin; };
  if (!has(first + 1)) return convert_rows(part(wire.at(first, p, columns), rows), to);
  for (index r = 0; r < to.rows; ++r) {
    std::fill_n(row, to.width, arithmetic<T>(0));
    for (index m = first; has(m); ++m) {
      const T* const from = wire.at(m, p, columns).row(rows.begin + r);
      for (index c = 0; c < to.width; ++c) row[c] += static_cast<arithmetic<T>>(from[c]);
    }
    for (index c = 0; c < to.width; ++c) to.row(r)[c] = T(row[c]);
  }
}

// The way back and the transpose: y (rows of the part, all heads) = x (all rows, heads of this member), where a key-value head that several members have
// is their sum.
template <class X, class Y>
void heads_to_rows(context& ctx, const head_columns& cut, matrix<X> x, matrix<Y> y) {
  const section_scope section(ctx, "exchange heads");
  ctx.note(0, bytes_in(x) + bytes_in(y));
  const index mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const heads_transfer<Y> wire(ctx, cut);
  arithmetic<Y>* const sums = ctx.scratch.take<arithmetic<Y>>(cut.head_width);
  if (!ctx.measuring()) {
    wire.each_row(ctx, x, [](matrix<X> from, matrix<Y> to) { convert_rows(from, to); });
    synchronize(ctx);
    if (ctx.thread == 0)
      wire.is.context.all_to_all(reinterpret_cast<const std::byte*>(wire.whole.data), wire.whole_bytes, reinterpret_cast<std::byte*>(wire.part.data),
                                 wire.part_bytes);
    synchronize(ctx);
    const interval own = ctx.own(wire.is.part);
    for (index p = 0; p < cut.pieces(); ++p) {
      index done = 0;
      for (index m = 0; m < cut.members; ++m) {
        const interval columns = cut.piece(m, p);
        // Of queries all at once, as no two members have the same; of keys and values head by head.
        const index step = p == 0 ? columns.size() : cut.head_width;
        for (index c = columns.begin; c < columns.end; c += step) {
          if (c < done) continue;
          done = c + step;
          sum_of_members(wire, p, {c, done}, m, own, sums, y);
        }
      }
    }
  }
  release(ctx, mark);
}

// Calls call(heads, kv heads) for heads that read evenly: all at once, or those of one key-value head after the other.
template <class Call>
void each_even(const head_groups& groups, Call&& call) {
  if (groups.heads == 0) return;
  if (groups.even()) return call({0, groups.heads}, {0, groups.kv_heads});
  for (index k = 0; k < groups.kv_heads; ++k) call(groups.readers(k), {k, k + 1});
}

// The parts of exchanged heads that a call of each_even works on.
template <class V, class L>
struct even_heads {
  attention_shape shape;
  matrix<V> q, k, v, y;
  matrix<L> lse;
  interval columns;  // of y

  even_heads(const attention_shape& of, const head_groups& mine, const exchanged_heads<V, L>& kept, interval heads, interval kv) : shape(of) {
    const index d = of.head_width, keys_at = mine.heads * d, values_at = keys_at + mine.kv_heads * d;
    shape.heads = heads.size(), shape.kv_heads = kv.size();
    columns = {heads.begin * d, heads.end * d};
    q = kept.qkv.columns(columns.begin, columns.size());
    k = kept.qkv.columns(keys_at + kv.begin * d, kv.size() * d);
    v = kept.qkv.columns(values_at + kv.begin * d, kv.size() * d);
    y = kept.mixed.columns(columns.begin, columns.size());
    lse = kept.lse.columns(heads.begin, heads.size());
  }
};

}  // namespace detail

template <class V, class L>
void reserve_exchanged(context& ctx, const attention_shape& shape, exchanged_heads<V, L>& kept) {
  const spread& is = *ctx.shared;
  const head_columns cut{head_groups(shape), shape.head_width, is.context.size(), true};
  const index rows = is.whole.rows(), width = cut.width(is.context.member()), heads = share(shape.heads, cut.members, is.context.member()).size();
  const index mixed = heads * shape.head_width;
  kept.qkv = {ctx.memory.take<V>(rows * width), rows, width, width};
  kept.mixed = {ctx.memory.take<V>(rows * mixed), rows, mixed, mixed};
  kept.lse = {ctx.memory.take<L>(rows * heads), rows, heads, heads};
}

// y (rows of the part) = attention of qkv (rows of the part, queries | keys | values) over all rows.
template <class X, class V, class L, class Y>
void heads_attention_forward(context& ctx, const attention_shape& shape, matrix<X> qkv, exchanged_heads<V, L>& kept, matrix<Y> y) {
  const spread& is = *ctx.shared;
  const head_groups all(shape);
  const index members = is.context.size();
  detail::rows_to_heads(ctx, {all, shape.head_width, members, true}, qkv, kept.qkv);
  const head_groups mine = all.part(share(all.heads, members, is.context.member()));
  detail::each_even(mine, [&](interval heads, interval kv) {
    const detail::even_heads some(shape, mine, kept, heads, kv);
    attention_forward(ctx, is.whole, is.whole, some.shape, some.q, some.k, some.v, some.y, some.lse);
  });
  detail::heads_to_rows(ctx, {all, shape.head_width, members, false}, kept.mixed, y);
}

// dqkv (rows of the part, queries | keys | values) from dy (rows of the part).
template <class V, class L, class G, class D>
void heads_attention_backward(context& ctx, const attention_shape& shape, exchanged_heads<V, L>& kept, matrix<G> dy, matrix<D> dqkv) {
  const spread& is = *ctx.shared;
  const head_groups all(shape);
  const index members = is.context.size(), mark = ctx.memory.mark();
  const head_groups mine = all.part(share(all.heads, members, is.context.member()));
  const index width = mine.heads * shape.head_width;
  const matrix<V> d_mixed{ctx.memory.take<V>(is.whole.rows() * width), is.whole.rows(), width, width};
  detail::rows_to_heads(ctx, {all, shape.head_width, members, false}, dy, d_mixed);
  detail::each_even(mine, [&](interval heads, interval kv) {
    const detail::even_heads some(shape, mine, kept, heads, kv);
    attention_backward(ctx, is.whole, is.whole, some.shape, some.q, some.k, some.v, some.y, some.lse,
                       d_mixed.columns(some.columns.begin, some.columns.size()), some.q, some.k, some.v);
  });
  detail::heads_to_rows(ctx, {all, shape.head_width, members, true}, kept.qkv, dqkv);
  release(ctx, mark);
}

}  // namespace motet::cpu
