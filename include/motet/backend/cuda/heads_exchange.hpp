// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/attention.hpp>
#include <motet/backend/cuda/rows_exchange.hpp>
#include <motet/backend/head_groups.hpp>
#include <motet/nn/context_attention.hpp>

// Attention over rows that are cut between the members of the context group, by an exchange of rows for heads (Jacobs et al., "DeepSpeed Ulysses"): a
// member gets all rows of its share of the heads, computes them as a rank by itself would, and gives the rows back.

namespace motet::cuda {
namespace detail {

// Rows of all heads, and the same on the wire, by member: each has its own width. A block moves one head of some rows: to all members that have it, or
// from them, as their sum in the order of members. Bound by memory: what a thread does besides is paid once for many rows.
template <int Each, class X, class T, bool ToWire>
struct head_moves_kernel {
  static constexpr int most_threads = 256;
  head_columns cut;
  std::conditional_t<ToWire, const X*, X*> x;
  index x_stride;
  T* wire;
  index rows, chunk;  // of a block
  int shift;          // 2^shift threads take a row of a head

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    index* const places = self.template shared<index>(cut.members);   // of each member that has the head: where it lies
    index* const strides = self.template shared<index>(cut.members);  // likewise, elements from row to row
    const index heads = cut.all.heads, kv_heads = cut.all.kv_heads, units = cut.keys ? heads + 2 * kv_heads : heads;
    const index unit = self.block() % units, d = cut.head_width;
    index count = 0, before = 0;
    for (index m = 0; m < cut.members; ++m) {
      const interval own = share(heads, cut.members, m), kv = cut.all.kv_of(own);
      const index width = cut.width(m);
      index at = -1;  // which of the member's heads it is
      if (unit < heads) {
        if (unit >= own.begin && unit < own.end) at = unit - own.begin;
      } else {
        const bool value = unit >= heads + kv_heads;
        const index head = unit - heads - (value ? kv_heads : 0);
        if (head >= kv.begin && head < kv.end) at = own.size() + (value ? kv.size() : 0) + head - kv.begin;
      }
      if (at >= 0) {
        if (self.thread() == 0) {
          places[count] = before + at * d;
          strides[count] = width;
        }
        ++count;
      }
      before += rows * width;
    }
    self.barrier();
    const index first = self.block() / units * chunk, end = first + chunk < rows ? first + chunk : rows, steps = d / Each;
    for (index r = first + (self.thread() >> shift); r < end; r += self.threads() >> shift)
      for (index i = self.thread() & ((1 << shift) - 1); i < steps; i += index{1} << shift) {
        auto* const here = x + r * x_stride + unit * d + i * Each;
        if constexpr (ToWire) {
          X in[Each];
          T out[Each];
          load_each<Each>(here, in);
          MOTET_UNROLLED
          for (int e = 0; e < Each; ++e) out[e] = converted<T>(in[e]);
          for (index m = 0; m < count; ++m) store_each<Each>(wire + places[m] + r * strides[m] + i * Each, out);
        } else if (count == 1) {
          convert_each<Each>(wire + places[0] + r * strides[0] + i * Each, here);
        } else {
          using number = motet::detail::arithmetic<T>;
          number sum[Each] = {};
          for (index m = 0; m < count; ++m) {
            T in[Each];
            load_each<Each>(wire + places[m] + r * strides[m] + i * Each, in);
            MOTET_UNROLLED
            for (int e = 0; e < Each; ++e) sum[e] += static_cast<number>(in[e]);
          }
          X out[Each];
          MOTET_UNROLLED
          for (int e = 0; e < Each; ++e) out[e] = static_cast<X>(sum[e]);
          store_each<Each>(here, out);
        }
      }
  }
};

// The memory and the counts of an exchange between (rows of the part, all heads) and (all rows, heads of a member).
template <class T>
struct heads_transfer {
  const spread& is;
  head_columns cut;
  index me, width;        // of this member's heads
  matrix<T> part, whole;  // what goes over the wire: by member (each has its own width), and by part
  std::int32_t* places;   // of rows of whole samples on the wire
  std::vector<index> part_bytes, whole_bytes;

  heads_transfer(context& ctx, const head_columns& columns) : is(*ctx.shared), cut(columns), me(is.context.member()), width(cut.width(me)) {
    const index elements = is.part.rows() * cut.width_of_all();
    part = {ctx.memory.take<T>(elements), 1, elements, elements};
    whole = {ctx.memory.take<T>(is.whole.rows() * width), is.whole.rows(), width, width};
    places = take_part_places(ctx, is.whole);
    if (ctx.measuring()) return;
    for (index m = 0; m < cut.members; ++m) {
      part_bytes.push_back(is.part.rows() * cut.width(m) * static_cast<index>(sizeof(T)));
      whole_bytes.push_back(is.cut.rows_of(is.whole, m) * width * static_cast<index>(sizeof(T)));
    }
  }
  // Between rows of all heads and the wire.
  template <bool ToWire, class X>
  void move_heads(context& ctx, matrix<X> x) const {
    using element = std::remove_const_t<X>;
    const index units = cut.all.heads + (cut.keys ? 2 * cut.all.kv_heads : 0), d = cut.head_width;
    if (units == 0 || x.rows == 0) return;
    constexpr int each = pack_of<element, T>();
    const auto run = [&]<int Each>() {
      const row_walk walk(x.rows, d / Each);
      const index at_once = 256 >> walk.shift, chunk = round_up(x.rows < 16 * at_once ? x.rows : 16 * at_once, at_once);
      launch(ctx.stream(), {units * ((x.rows + chunk - 1) / chunk), 256, 2 * round_up(cut.members * static_cast<index>(sizeof(index)), 16)},
             head_moves_kernel<Each, element, T, ToWire>{cut, x.data, x.stride, part.data, x.rows, chunk, walk.shift});
    };
    if (in_pieces<each>(x.data, d, x.stride) && in_pieces<each>(part.data, d, d)) run.template operator()<each>();
    else run.template operator()<1>();
  }
};

// y (all rows, heads of this member) = x (rows of the part, all heads)
template <class X, class Y>
void rows_to_heads(context& ctx, const head_columns& cut, matrix<X> x, matrix<Y> y) {
  const section_scope section(ctx, "exchange heads");
  ctx.note(0, motet::detail::bytes_in(x) + motet::detail::bytes_in(y));
  const index mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const heads_transfer<Y> wire(ctx, cut);
  if (!ctx.measuring()) {
    wire.template move_heads<true>(ctx, x);
    wire.is.context.all_to_all(reinterpret_cast<const std::byte*>(wire.part.data), wire.part_bytes, reinterpret_cast<std::byte*>(wire.whole.data),
                               wire.whole_bytes);
    find_part_places(ctx, wire.is.whole, wire.places);
    map_rows(ctx, false, y.rows, wire.places, 1, nullptr, wire.whole, y);
  }
  release(ctx, mark);
}

// The way back and the transpose: y (rows of the part, all heads) = x (all rows, heads of this member), where a key-value head that several members have
// is their sum.
template <class X, class Y>
void heads_to_rows(context& ctx, const head_columns& cut, matrix<X> x, matrix<Y> y) {
  const section_scope section(ctx, "exchange heads");
  ctx.note(0, motet::detail::bytes_in(x) + motet::detail::bytes_in(y));
  const index mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const heads_transfer<Y> wire(ctx, cut);
  if (!ctx.measuring()) {
    find_part_places(ctx, wire.is.whole, wire.places);
    map_rows(ctx, true, x.rows, wire.places, 1, nullptr, x, wire.whole);
    wire.is.context.all_to_all(reinterpret_cast<const std::byte*>(wire.whole.data), wire.whole_bytes, reinterpret_cast<std::byte*>(wire.part.data),
                               wire.part_bytes);
    wire.template move_heads<false>(ctx, y);
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

}  // namespace motet::cuda
