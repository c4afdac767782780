// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/attention/attention.hpp>
#include <motet/backend/cpu/exchange/rows_exchange.hpp>
#include <motet/backend/exchange/context_ring.hpp>
#include <motet/backend/exchange/head_groups.hpp>

// The parts of ring attention besides the ring say which tiles of queries meet a member's keys, and how keys
// and values go round.

namespace motet::cpu::detail {

// A tile of queries against a piece of the keys.
struct ring_tile {
  isize row;                // of its first query, among the rows of the part
  isize count;              // queries
  isize reach;              // of the piece's keys the last query sees so many
  visible_columns visible;  // from the piece's first key on
};

template <class C>
struct attention_ring : context_ring {
  head_groups groups;
  mask_kind mask;
  isize rows;
  attention_recipe<C> recipe;  // the keys are those of one piece
  C scale;

  attention_ring(const context& ctx, const attention_shape& shape)
      : context_ring(*ctx.shared),
        groups(shape),
        mask(shape.mask),
        rows(is.part.rows()),
        recipe(sequences{1, is.longest_piece, nullptr}, shape),
        scale(attention_scale<C>(shape)) {}

  // The rows of a part that go round and belong to this thread's samples.
  interval own_rows(const context& ctx, isize part) const {
    const interval own = ctx.own_samples(is.part);
    interval out;
    for (isize s = 0; s < own.end; ++s) {
      const isize count = is.is_cut(s) ? is.cut.rows_of(is.whole.rows_of(s), part) : 0;
      out.begin += s < own.begin ? count : 0;
      out.end += count;
    }
    return out;
  }

  // Calls visit(sample, piece, row that goes round) for the pieces of a part's keys that this member's
  // queries see, of this thread's samples.
  template <class Visit>
  void each_keys(const context& ctx, isize part, Visit&& visit) const {
    const interval own = ctx.own_samples(is.part);
    isize row = own_rows(ctx, part).begin;
    for (isize s = own.begin; s < own.end; ++s) {
      if (!is.is_cut(s)) continue;
      const isize all = is.whole.rows_of(s), queries = is.part.rows_of(s);
      const isize last = queries > 0 ? is.cut.position(all, me, queries - 1) : -1;
      for (isize p = 0; p < is.cut.pieces(); ++p) {
        const interval keys = is.cut.piece(all, part, p);
        if (keys.size() > 0 && queries > 0 && (mask == mask_kind::full || keys.begin <= last))
          visit(s, keys, row);
        row += keys.size();
      }
    }
  }
  // Calls visit(sample, its rows, how many rows that stay whole come before) for those of them that are this
  // thread's and this member's.
  template <class Visit>
  void each_whole(const context& ctx, Visit&& visit) const {
    const interval own = ctx.own_samples(is.part);
    isize before = 0;
    for (isize s = 0; s < own.end; ++s) {
      if (is.is_cut(s)) continue;
      const isize count = is.part.rows_of(s);
      if (s >= own.begin && count > 0) visit(s, interval{0, count}, before);
      before += count;
    }
  }
  // Calls visit(row of the part, row that goes round, count) for this member's rows of this thread's samples
  // that are cut.
  template <class Visit>
  void each_cut(const context& ctx, Visit&& visit) const {
    const interval own = ctx.own_samples(is.part);
    isize row = own_rows(ctx, me).begin;
    for (isize s = own.begin; s < own.end; ++s) {
      if (!is.is_cut(s)) continue;
      visit(is.part.begin(s), row, is.part.rows_of(s));
      row += is.part.rows_of(s);
    }
  }
  template <class Visit>
  void each_tile(isize sample, interval keys, Visit&& visit) const {
    isize row = is.part.begin(sample);
    const row_parts cut = is.cut_of(sample);
    for (isize p = 0; p < cut.pieces(); ++p) {
      const interval queries = cut.piece(is.whole.rows_of(sample), me, p);
      for (isize i = 0; i < queries.size(); i += recipe.query_tile) {
        const isize count = queries.size() - i < recipe.query_tile ? queries.size() - i : recipe.query_tile;
        const isize first = queries.begin + i + 1 - keys.begin, last = first + count - 1;
        if (mask == mask_kind::full) visit(ring_tile{row + i, count, keys.size(), {keys.size(), 0}});
        else if (last > 0)
          visit(ring_tile{row + i, count, last < keys.size() ? last : keys.size(), {first, 1}});
      }
      row += queries.size();
    }
  }
};

// Keys and values on their way round.
template <class T>
class key_ring {
 public:
  template <class C>
  key_ring(context& ctx, const attention_ring<C>& ring)
      : shift_(ctx, ring.is),
        width_(ring.groups.kv_heads * ring.recipe.width),
        here_(ctx.memory.take<T>(ring.most_rows() * 2 * width_)),
        next_(ctx.memory.take<T>(ring.most_rows() * 2 * width_)) {}

  template <class C, class K>
  void fill(context& ctx, const attention_ring<C>& ring, matrix<K> k, matrix<K> v) {
    const matrix<T> to{here_, ring.rows_of(ring.me), 2 * width_, 2 * width_};
    ring.each_cut(ctx, [&](isize row, isize at, isize count) {
      convert_rows(k.slice(row, count), to.slice(at, count).columns(0, width_));
      convert_rows(v.slice(row, count), to.slice(at, count).columns(width_, width_));
    });
    synchronize(ctx);
  }
  template <class C>
  void begin(const context& ctx, const attention_ring<C>& ring, isize step) {
    rows_ = ring.rows_of(ring.part_at(step));
    if (step + 1 < ring.members)
      shift_.begin(ctx, here_, rows_ * 2 * width_, next_, ring.rows_of(ring.part_at(step + 1)) * 2 * width_);
  }
  void poll() { shift_.poll(); }
  // All threads are done with what was here.
  void finish() {
    shift_.finish();
    std::swap(here_, next_);
  }
  matrix<const T> keys() const { return {here_, rows_, width_, 2 * width_}; }
  matrix<const T> values() const { return {here_ + width_, rows_, width_, 2 * width_}; }

 private:
  ring_shift<context> shift_;
  isize width_, rows_ = 0;
  T *here_, *next_;
};

}  // namespace motet::cpu::detail
