// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/attention/attention.hpp>
#include <motet/backend/cpu/exchange/rows_exchange.hpp>
#include <motet/backend/exchange/heads_exchange.hpp>

namespace motet::cpu {

using motet::heads_attention_backward;
using motet::heads_attention_forward;
using motet::reserve_exchanged;

namespace detail {

// Columns of piece p of a row of all heads lie here on the wire, for a member that has them.
template <class T>
matrix<T> on_wire(const heads_transfer<T>& wire, isize member, isize p, interval columns) {
  const head_columns& cut = wire.cut;
  const isize rows = wire.is.cut_part.rows();
  isize before = 0, first = columns.begin - cut.piece(member, p).begin;
  for (isize m = 0; m < member; ++m) before += rows * cut.width(m);
  for (isize q = 0; q < p; ++q) first += cut.piece(member, q).size();
  return {wire.part.data + before + first, rows, columns.size(), cut.width(member)};
}

// y = the sum over the members that have these columns, of which this is the first; sums are taken in `row`.
template <class T>
void sum_of_members(const heads_transfer<T>& wire, isize p, interval columns, isize first, interval rows,
                    arithmetic<T>* row, matrix<T> y) {
  const matrix<T> to = part_of(y, rows).columns(columns.begin, columns.size());
  const auto has = [&](isize m) {
    return m < wire.cut.members && wire.cut.piece(m, p).size() > 0 &&
           wire.cut.piece(m, p).begin <= columns.begin;
  };
  if (!has(first + 1)) return convert_rows(part_of(on_wire(wire, first, p, columns), rows), to);
  for (isize r = 0; r < to.rows; ++r) {
    std::fill_n(row, to.width, arithmetic<T>(0));
    for (isize m = first; has(m); ++m) {
      const T* const from = on_wire(wire, m, p, columns).row(rows.begin + r);
      for (isize c = 0; c < to.width; ++c) row[c] += static_cast<arithmetic<T>>(from[c]);
    }
    for (isize c = 0; c < to.width; ++c) to.row(r)[c] = T(row[c]);
  }
}

// visit(row of the part, whether its sample is cut, row among those that are or among the others, count): of
// this thread's samples.
template <class Visit>
void each_apart(const context& ctx, Visit&& visit) {
  if (ctx.measuring()) return;
  const microbatch_spread& is = *ctx.shared;
  const interval own = ctx.own_samples(is.part);
  for (isize s = own.begin; s < own.end; ++s)
    if (const isize count = is.part.rows_of(s); count > 0)
      visit(is.part.begin(s), is.is_cut(s), (is.is_cut(s) ? is.cut_part : is.stays).begin(s), count);
}

}  // namespace detail

// Each thread copies its rows.
template <class X, class T>
void rows_apart(const context& ctx, matrix<X> x, matrix<T> cut, matrix<T> whole) {
  detail::each_apart(ctx, [&](isize row, bool is_cut, isize at, isize count) {
    convert_rows(x.slice(row, count), (is_cut ? cut : whole).slice(at, count));
  });
}
template <class T, class Y>
void rows_together(const context& ctx, matrix<T> cut, matrix<T> whole, matrix<Y> y) {
  detail::each_apart(ctx, [&](isize row, bool is_cut, isize at, isize count) {
    convert_rows((is_cut ? cut : whole).slice(at, count), y.slice(row, count));
  });
}
template <class X, class T>
void heads_to_wire(const context& ctx, const heads_transfer<T>& wire, matrix<X> x) {
  if (ctx.measuring()) return;
  const interval own = ctx.own(wire.is.cut_part);
  for (isize m = 0; m < wire.cut.members; ++m)
    for (isize p = 0; p < wire.cut.pieces(); ++p) {
      const interval columns = wire.cut.piece(m, p);
      convert_rows(part_of(x, own).columns(columns.begin, columns.size()),
                   part_of(detail::on_wire(wire, m, p, columns), own));
    }
}
template <class T>
void heads_from_wire(context& ctx, const heads_transfer<T>& wire, matrix<T> y) {
  using number = arithmetic<T>;
  const head_columns& cut = wire.cut;
  number* const sums = ctx.scratch.take<number>(cut.head_width);
  if (ctx.measuring()) return;
  const interval own = ctx.own(wire.is.cut_part);
  for (isize p = 0; p < cut.pieces(); ++p) {
    isize done = 0;
    for (isize m = 0; m < cut.members; ++m) {
      const interval columns = cut.piece(m, p);
      // Columns of queries are summed all at once, as no two members have the same; those of keys and values
      // head by head.
      const isize step = p == 0 ? columns.size() : cut.head_width;
      for (isize c = columns.begin; c < columns.end; c += step) {
        if (c < done) continue;
        done = c + step;
        detail::sum_of_members(wire, p, {c, done}, m, own, sums, y);
      }
    }
  }
}

}  // namespace motet::cpu
