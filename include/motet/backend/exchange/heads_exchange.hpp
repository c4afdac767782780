// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/step_costs.hpp>
#include <motet/backend/exchange/head_groups.hpp>
#include <motet/backend/exchange/rows_exchange.hpp>
#include <motet/nn/core/context_attention.hpp>

// Attention over rows that are cut between the members of the context group, by an exchange of rows for heads
// (Jacobs et al., "DeepSpeed Ulysses"): a member gets all rows of its share of the heads, computes them as a
// rank by itself would, and gives the rows back. Rows of samples that stay whole are not exchanged. A back
// end brings, besides what rows_exchange.hpp asks for and attention itself:
//   heads_to_wire(ctx, wire, x)     copies rows of all heads to wire.part
//   heads_from_wire(ctx, wire, y)   the way back; y is the sum over the members that have a head
//   rows_apart(ctx, x, cut, whole)     where samples may stay whole: copies rows of the part to those
//                                      of samples that are cut, and of those that stay
//   rows_together(ctx, cut, whole, y)  the way back

namespace motet {

// The memory of an exchange between (rows of the part, all heads) and (all rows, heads of a member), of
// samples that are cut.
template <class T>
struct heads_transfer {
  const microbatch_spread& is;
  head_columns cut;
  isize width;            // of this member's heads
  matrix<T> part, whole;  // what goes over the wire: by member (each has its own width), and by part

  template <class Context>
  heads_transfer(Context& ctx, const head_columns& columns)
      : is(*ctx.shared), cut(columns), width(cut.width(is.context.member())) {
    const isize elements = is.cut_part.rows() * cut.width_of_all();
    part = {ctx.memory.template take<T>(elements), 1, elements, elements};
    whole = {ctx.memory.template take<T>(is.cut_whole.rows() * width), is.cut_whole.rows(), width, width};
  }
};

namespace detail {

// The bytes of it, by member.
struct heads_counts {
  std::span<isize> part, whole;
  // `room` is for two numbers of each member.
  template <class T>
  heads_counts(const heads_transfer<T>& wire, std::span<isize> room)
      : part(room.first(as_size(wire.cut.members))), whole(room.subspan(part.size())) {
    const microbatch_spread& is = wire.is;
    for (std::size_t m = 0; m < part.size(); ++m) {
      part[m] = is.cut_part.rows() * wire.cut.width(static_cast<isize>(m)) * static_cast<isize>(sizeof(T));
      whole[m] = is.part_rows_cut[m] * wire.width * static_cast<isize>(sizeof(T));
    }
  }
};

// y (all rows, heads of this member) = x (rows of the part, all heads)
template <class Context, class X, class Y>
void rows_to_heads(Context& ctx, const head_columns& cut, matrix<X> x, matrix<Y> y) {
  const auto section = enter(ctx, "exchange heads");
  ctx.note("rows_to_heads", 0, bytes_in(x) + bytes_in(y), flops_of::exchanges);
  const isize mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const heads_transfer<Y> wire(ctx, cut);
  auto room = host_numbers(ctx, 2 * cut.members);
  const auto order = order_of_parts(ctx, wire.is.cut_whole, 0);
  heads_to_wire(ctx, wire, x);
  if (!ctx.measuring()) {
    const heads_counts bytes(wire, room);
    detail::all_to_all(ctx, wire.is.context, wire.part.data, bytes.part, wire.whole.data, bytes.whole);
    synchronize(ctx);
    order.to_samples(ctx, wire.whole, y);
  }
  release(ctx, mark);
}

// The way back and the transpose: y (rows of the part, all heads) = x (all rows, heads of this member), where
// a key-value head that several members have is their sum.
template <class Context, class X, class Y>
void heads_to_rows(Context& ctx, const head_columns& cut, matrix<X> x, matrix<Y> y) {
  const auto section = enter(ctx, "exchange heads");
  ctx.note("heads_to_rows", 0, bytes_in(x) + bytes_in(y), flops_of::exchanges);
  const isize mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const heads_transfer<Y> wire(ctx, cut);
  auto room = host_numbers(ctx, 2 * cut.members);
  const auto order = order_of_parts(ctx, wire.is.cut_whole, 0);
  if (!ctx.measuring()) {
    const heads_counts bytes(wire, room);
    order.to_parts(ctx, x, wire.whole);
    detail::all_to_all(ctx, wire.is.context, wire.whole.data, bytes.whole, wire.part.data, bytes.part);
    synchronize(ctx);
  }
  heads_from_wire(ctx, wire, y);
  release(ctx, mark);
}

// Calls call(heads, kv heads) for heads that read evenly: all at once, or those of one key-value head after
// the other.
template <class Call>
void each_even(const head_groups& groups, Call&& call) {
  if (groups.heads == 0) return;
  if (groups.even()) return call({0, groups.heads}, {0, groups.kv_heads});
  for (isize k = 0; k < groups.kv_heads; ++k) call(groups.readers(k), {k, k + 1});
}

// The parts of exchanged heads that a call of each_even works on.
template <class V, class L>
struct even_heads {
  attention_shape shape;
  matrix<V> q, k, v, y;
  matrix<L> lse;
  interval columns;  // of y

  even_heads(const attention_shape& of, const head_groups& mine, const kept_heads<V, L>& kept, interval heads,
             interval kv)
      : shape(of) {
    const isize d = of.head_width, keys_at = mine.heads * d, values_at = keys_at + mine.kv_heads * d;
    shape.heads = heads.size(), shape.kv_heads = kv.size();
    columns = {heads.begin * d, heads.end * d};
    q = kept.qkv.columns(columns.begin, columns.size());
    k = kept.qkv.columns(keys_at + kv.begin * d, kv.size() * d);
    v = kept.qkv.columns(values_at + kv.begin * d, kv.size() * d);
    y = kept.mixed.columns(columns.begin, columns.size());
    lse = kept.lse.columns(heads.begin, heads.size());
  }
};

// y = attention of all that is kept of some rows, and from dy the gradients of what went in.
template <class Context, class V, class L>
void attend_forward(Context& ctx, const sequences& rows, const attention_shape& shape,
                    const head_groups& mine, const kept_heads<V, L>& kept) {
  each_even(mine, [&](interval heads, interval kv) {
    const even_heads some(shape, mine, kept, heads, kv);
    attention_forward(ctx, rows, rows, some.shape, some.q, some.k, some.v, some.y, some.lse);
  });
}
// `to` is `kept` but for qkv, which takes the gradient.
template <class Context, class V, class L, class G>
void attend_backward(Context& ctx, const sequences& rows, const attention_shape& shape,
                     const head_groups& mine, const kept_heads<V, L>& kept, const kept_heads<V, L>& to,
                     matrix<G> dy) {
  each_even(mine, [&](interval heads, interval kv) {
    const even_heads some(shape, mine, kept, heads, kv), made(shape, mine, to, heads, kv);
    attention_backward(ctx, rows, rows, some.shape, some.q, some.k, some.v, some.y, some.lse,
                       dy.columns(some.columns.begin, some.columns.size()), made.q, made.k, made.v);
  });
}

// Some samples stay whole on this rank, which has their rows among those of the part.
template <class Context>
bool some_stay(const Context& ctx) {
  if constexpr (requires { requires Context::keeps_samples_whole; }) return ctx.shared->stays.rows() > 0;
  else return false;
}
template <class T, class Context>
matrix<T> take_rows(Context& ctx, isize rows, isize width) {
  return {ctx.memory.template take<T>(rows * width), rows, width, width};
}
// Rows of a part as they are exchanged: those of samples that are cut, apart from others where some stay
// whole.
template <class Context, class X, class V>
matrix<X> rows_to_exchange(Context& ctx, matrix<X> x, [[maybe_unused]] matrix<V> whole) {
  if constexpr (requires { requires Context::keeps_samples_whole; })
    if (some_stay(ctx)) {
      const auto cut = take_rows<std::remove_const_t<X>>(ctx, ctx.shared->cut_part.rows(), x.width);
      rows_apart(ctx, x, cut, whole);
      synchronize(ctx);
      return cut;
    }
  return x;
}
// The way back of these heads, beside rows that stay whole.
template <class Context, class V, class Y>
void exchanged_to_rows(Context& ctx, const head_columns& cut, matrix<V> x, [[maybe_unused]] matrix<V> whole,
                       matrix<Y> y) {
  if constexpr (requires { requires Context::keeps_samples_whole; })
    if (some_stay(ctx)) {
      const auto back = take_rows<Y>(ctx, ctx.shared->cut_part.rows(), y.width);
      heads_to_rows(ctx, cut, x, back);
      synchronize(ctx);
      return rows_together(ctx, back, whole, y);
    }
  heads_to_rows(ctx, cut, x, y);
}

}  // namespace detail

template <class Context, class V, class L>
void reserve_exchanged(Context& ctx, const attention_shape& shape, exchanged_heads<V, L>& kept) {
  const microbatch_spread& is = *ctx.shared;
  const head_columns cut{head_groups(shape), shape.head_width, is.context.size(), true};
  const auto take = [&](kept_heads<V, L>& of, isize rows, isize width, isize heads) {
    of.qkv = detail::take_rows<V>(ctx, rows, width);
    of.mixed = detail::take_rows<V>(ctx, rows, heads * shape.head_width);
    of.lse = detail::take_rows<L>(ctx, rows, heads);
  };
  take(kept, is.cut_whole.rows(), cut.width(is.context.member()),
       share(shape.heads, cut.members, is.context.member()).size());
  if (detail::some_stay(ctx))
    take(kept.whole, is.stays.rows(), (shape.heads + 2 * shape.kv_heads) * shape.head_width, shape.heads);
}

// y (rows of the part) = attention of qkv (rows of the part, queries | keys | values) over all rows.
template <class Context, class X, class V, class L, class Y>
void heads_attention_forward(Context& ctx, const attention_shape& shape, matrix<X> qkv,
                             exchanged_heads<V, L>& kept, matrix<Y> y) {
  const microbatch_spread& is = *ctx.shared;
  const head_groups all(shape);
  const isize members = is.context.size(), mark = ctx.memory.mark();
  const matrix<X> sent = detail::rows_to_exchange(ctx, qkv, kept.whole.qkv);
  detail::rows_to_heads(ctx, {all, shape.head_width, members, true}, sent, kept.qkv);
  detail::attend_forward(ctx, is.cut_whole, shape, all.part(share(all.heads, members, is.context.member())),
                         kept);
  if (detail::some_stay(ctx)) detail::attend_forward(ctx, is.stays, shape, all, kept.whole);
  detail::exchanged_to_rows(ctx, {all, shape.head_width, members, false}, kept.mixed, kept.whole.mixed, y);
  release(ctx, mark);
}

// dqkv (rows of the part, queries | keys | values) from dy (rows of the part).
template <class Context, class V, class L, class G, class D>
void heads_attention_backward(Context& ctx, const attention_shape& shape, exchanged_heads<V, L>& kept,
                              matrix<G> dy, matrix<D> dqkv) {
  const microbatch_spread& is = *ctx.shared;
  const head_groups all(shape);
  const isize members = is.context.size(), mark = ctx.memory.mark();
  const head_groups mine = all.part(share(all.heads, members, is.context.member()));
  const bool stay = detail::some_stay(ctx);
  const auto d_mixed = detail::take_rows<V>(ctx, is.cut_whole.rows(), mine.heads * shape.head_width);
  matrix<V> d_whole{};
  if (stay) d_whole = detail::take_rows<V>(ctx, is.stays.rows(), all.heads * shape.head_width);
  exchanged_heads<V, L> to = kept;
  to.qkv = gradient_room(ctx, kept.qkv);
  if (stay) to.whole.qkv = gradient_room(ctx, kept.whole.qkv);
  const matrix<G> sent = detail::rows_to_exchange(ctx, dy, d_whole);
  detail::rows_to_heads(ctx, {all, shape.head_width, members, false}, sent, d_mixed);
  detail::attend_backward(ctx, is.cut_whole, shape, mine, kept, to, d_mixed);
  if (stay) detail::attend_backward(ctx, is.stays, shape, all, kept.whole, to.whole, d_whole);
  detail::exchanged_to_rows(ctx, {all, shape.head_width, members, true}, to.qkv, to.whole.qkv, dqkv);
  release(ctx, mark);
}

}  // namespace motet
