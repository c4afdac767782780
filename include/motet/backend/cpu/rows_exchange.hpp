// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/row_kernels.hpp>
#include <motet/backend/spread.hpp>

#include <cassert>

// Rows change between whole samples, each on one member of the context group, and parts of all samples, on every member. Each element moves once;
// either way is the other's transpose.

namespace motet::cpu {
namespace detail {

// Calls move(row in the batch, row in the part, count) for each piece that a part has of these samples.
template <class Move>
void each_piece(const row_parts& cut, index part, const sequences& whole, interval samples, Move&& move) {
  index at = 0;
  for (index s = 0; s < samples.end; ++s) {
    const index rows = whole.rows_of(s);
    if (s < samples.begin) {
      at += cut.rows_of(rows, part);
      continue;
    }
    for (index p = 0; p < cut.pieces(); ++p) {
      const interval piece = cut.piece(rows, part, p);
      if (piece.size() > 0) move(whole.begin(s) + piece.begin, at, piece.size());
      at += piece.size();
    }
  }
}

// The bytes that go each way between the order of samples, by part, and the order of parts, by who has the samples.
struct exchange_counts {
  std::span<index> by_part, by_owner;
};
inline exchange_counts count_exchange(context& ctx, index row_bytes) {
  const spread& is = *ctx.shared;
  const index members = is.context.size();
  index* const room = ctx.scratch.take<index>(2 * members);
  if (ctx.measuring()) return {};
  for (index m = 0; m < members; ++m) {
    const interval theirs = share(is.own.samples, members, m);
    room[m] = is.cut.rows_of(is.mine, m) * row_bytes;
    room[members + m] = (is.own.begin(theirs.end) - is.own.begin(theirs.begin)) * row_bytes;
  }
  const auto count = static_cast<std::size_t>(members);
  return {{room, count}, {room + members, count}};
}

}  // namespace detail

// Whether attention must look for rows on other ranks.
inline bool rows_are_cut(const context& ctx) { return ctx.shared != nullptr && !ctx.shared->context.alone(); }
// What blocks work on, and what embedding and head do.
inline const sequences& rows_of_blocks(const context& ctx) { return ctx.shared->own; }
inline const sequences& rows_of_samples(const context& ctx) { return ctx.shared->mine; }

// Until the end of the scope this rank has whole samples, and no rows elsewhere.
class whole_samples_scope {
 public:
  explicit whole_samples_scope(context& ctx) : ctx_(ctx), outer_(ctx.shared) {
    if (rows_are_cut(ctx)) ctx.shared = outer_->ends;
  }
  whole_samples_scope(const whole_samples_scope&) = delete;
  whole_samples_scope& operator=(const whole_samples_scope&) = delete;
  ~whole_samples_scope() { ctx_.shared = outer_; }

 private:
  context& ctx_;
  const spread* outer_;
};
inline whole_samples_scope on_whole_samples(context& ctx) { return whole_samples_scope(ctx); }

// y (the rows of blocks) = x (whole samples), in other hands.
template <class X, class Y>
void rows_to_parts(context& ctx, matrix<X> x, matrix<Y> y) {
  static_assert(std::is_same_v<std::remove_const_t<X>, Y>, "motet: an exchange of rows keeps their type");
  const section_scope section(ctx, "exchange rows");
  ctx.note(0, detail::bytes_in(x) + detail::bytes_in(y));
  const spread& is = *ctx.shared;
  const index mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const matrix<Y> packed{ctx.memory.take<Y>(x.rows * x.width), x.rows, x.width, x.width};  // by part
  const auto counts = detail::count_exchange(ctx, x.width * static_cast<index>(sizeof(Y)));
  if (!ctx.measuring()) {
    assert(y.stride == y.width && x.rows == is.mine.rows() && y.rows == is.own.rows());
    for (index m = 0, before = 0; m < is.context.size(); before += is.cut.rows_of(is.mine, m), ++m)
      detail::each_piece(is.cut, m, is.mine, ctx.own_samples(is.mine),
                         [&](index row, index at, index count) { detail::convert_rows(x.slice(row, count), packed.slice(before + at, count)); });
    synchronize(ctx);
    if (ctx.thread == 0)
      is.context.all_to_all(reinterpret_cast<const std::byte*>(packed.data), counts.by_part, reinterpret_cast<std::byte*>(y.data), counts.by_owner);
  }
  release(ctx, mark);
}

// The way back: y (whole samples) = x (the rows of blocks).
template <class X, class Y>
void rows_to_samples(context& ctx, matrix<X> x, matrix<Y> y) {
  static_assert(std::is_same_v<std::remove_const_t<X>, Y>, "motet: an exchange of rows keeps their type");
  const section_scope section(ctx, "exchange rows");
  ctx.note(0, detail::bytes_in(x) + detail::bytes_in(y));
  const spread& is = *ctx.shared;
  const index mark = ctx.memory.mark();
  const scratch_scope scope(ctx);
  const matrix<Y> packed{ctx.memory.take<Y>(y.rows * y.width), y.rows, y.width, y.width};  // by part
  const auto counts = detail::count_exchange(ctx, x.width * static_cast<index>(sizeof(Y)));
  if (!ctx.measuring()) {
    assert(x.stride == x.width && y.rows == is.mine.rows() && x.rows == is.own.rows());
    synchronize(ctx);
    if (ctx.thread == 0)
      is.context.all_to_all(reinterpret_cast<const std::byte*>(x.data), counts.by_owner, reinterpret_cast<std::byte*>(packed.data), counts.by_part);
    synchronize(ctx);
    for (index m = 0, before = 0; m < is.context.size(); before += is.cut.rows_of(is.mine, m), ++m)
      detail::each_piece(is.cut, m, is.mine, ctx.own_samples(is.mine),
                         [&](index row, index at, index count) { detail::convert_rows(packed.slice(before + at, count), y.slice(row, count)); });
  }
  release(ctx, mark);
}

}  // namespace motet::cpu
