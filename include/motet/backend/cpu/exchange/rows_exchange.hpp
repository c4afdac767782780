// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/backend/exchange/cut_rows.hpp>
#include <motet/backend/exchange/rows_exchange.hpp>

// Rows of a batch as they change places between whole samples and the parts of a context group, on
// processors.
namespace motet::cpu {

using motet::on_whole_samples;
using motet::rows_are_cut;
using motet::rows_of_blocks;
using motet::rows_of_samples;
using motet::rows_to_parts;
using motet::rows_to_samples;

namespace detail {

// Calls move(row in the batch, row in the part, count) for each piece that a part has of these samples, the
// first of which is this one of the microbatch.
template <class Move>
void each_piece(const microbatch_spread& is, isize first, isize part, const sequences& whole,
                interval samples, Move&& move) {
  isize at = 0;
  for (isize s = 0; s < samples.end; ++s) {
    const isize rows = whole.rows_of(s);
    const row_parts cut = is.cut_of(first + s);
    if (s < samples.begin) {
      at += cut.rows_of(rows, part);
      continue;
    }
    for (isize p = 0; p < cut.pieces(); ++p) {
      const interval piece = cut.piece(rows, part, p);
      if (piece.size() > 0) move(whole.begin(s) + piece.begin, at, piece.size());
      at += piece.size();
    }
  }
}

// Between rows of whole samples and the same sorted by part; each thread moves those of its samples.
struct part_order {
  const microbatch_spread& is;
  const sequences& whole;
  isize first;  // of them, within the microbatch

  template <class X, class Y>
  void to_parts(const context& ctx, matrix<X> x, matrix<Y> packed) const {
    each(ctx, [&](isize row, isize at, isize count) {
      convert_rows(x.slice(row, count), packed.slice(at, count));
    });
  }
  template <class X, class Y>
  void to_samples(const context& ctx, matrix<X> packed, matrix<Y> y) const {
    each(ctx, [&](isize row, isize at, isize count) {
      convert_rows(packed.slice(at, count), y.slice(row, count));
    });
  }

 private:
  template <class Move>
  void each(const context& ctx, Move&& move) const {
    for (isize m = 0, before = 0; m < is.context.size(); before += is.rows_of_part(whole, first, m), ++m)
      each_piece(is, first, m, whole, ctx.own_samples(whole),
                 [&](isize row, isize at, isize count) { move(row, before + at, count); });
  }
};

}  // namespace detail

inline detail::part_order order_of_parts(const context& ctx, const sequences& whole, isize first) {
  return {*ctx.shared, whole, first};
}
inline std::span<isize> host_numbers(context& ctx, isize count) {
  return {ctx.scratch.take<isize>(count), as_size(count)};
}

}  // namespace motet::cpu
