// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cpu/rows/resized_position.hpp>
#include <motet/nn/core/operations.hpp>
#include <motet/tensor/packed_pictures.hpp>

#include <cassert>
#include <cmath>

namespace motet::cpu {
namespace detail {

// As each_tap, for the grid of one picture; a tap that counts nothing is left out, so that a picture of the
// table's own grid reads each of its rows once.
template <class Use>
void each_tap_of(const grid_table& of, const packed_picture& picture, Use&& use) {
  each_tap(of.lead, {of.side, picture.rows}, {of.side, picture.columns}, {0, of.lead + picture.patches()},
           [&](isize to, isize from, double weight) {
             if (weight != 0) use(to, from, weight);
           });
}

}  // namespace detail

// Adds to each row of a picture its table's row, which is interpolated to the grid of the picture.
template <class M, class X>
void grid_position_forward(context& ctx, const sequences& seq, const grid_table& of,
                           const packed_picture* pictures, matrix<M> table, matrix<X> x) {
  ctx.note("grid_position_forward", 32 * elements_in(x), 2 * bytes_in(x));
  using sum = std::remove_const_t<M>;
  const scratch_scope scope(ctx);
  sum* const place = ctx.scratch.take<sum>(x.width);
  if (ctx.measuring()) return;
  const auto add_place = [&](X* row) {
    for (isize c = 0; c < x.width; ++c) row[c] = X(static_cast<sum>(row[c]) + place[c]);
  };
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    if (seq.rows_of(s) == 0) continue;
    assert(seq.rows_of(s) == of.lead + pictures[s].patches());
    isize now = -1;  // the row that is put together
    detail::each_tap_of(of, pictures[s], [&](isize to, isize from, double weight) {
      if (to != now) {
        if (now >= 0) add_place(x.row(seq.begin(s) + now));
        for (isize c = 0; c < x.width; ++c) place[c] = sum(0);
        now = to;
      }
      const auto part = static_cast<sum>(weight);
      for (isize c = 0; c < x.width; ++c) place[c] += part * table.row(from)[c];
    });
    if (now >= 0) add_place(x.row(seq.begin(s) + now));
  }
}
template <class Dy, class M>
void grid_position_backward_weight(context& ctx, const sequences& seq, const grid_table& of,
                                   const packed_picture* pictures, matrix<Dy> dy, matrix<M> dtable) {
  ctx.note("grid_position_backward_weight", 32 * elements_in(dy), bytes_in(dy) + 2 * bytes_in(dtable));
  if (ctx.measuring()) return;
  const interval own = ctx.own(dy.width);
  for (isize s = 0; s < seq.samples; ++s) {
    if (seq.rows_of(s) == 0) continue;
    detail::each_tap_of(of, pictures[s], [&](isize to, isize from, double weight) {
      const auto part = static_cast<M>(weight);
      const auto* const row = dy.row(seq.begin(s) + to);
      for (isize c = own.begin; c < own.end; ++c) dtable.row(from)[c] += part * static_cast<M>(row[c]);
    });
  }
}

// Adds the fixed 2-D positions of sine_position_forward to pictures of grids of their own.
template <class X>
void grid_sine_forward(context& ctx, const sequences& seq, isize lead, const packed_picture* pictures,
                       matrix<X> x) {
  ctx.note("grid_sine_forward", elements_in(x), 2 * bytes_in(x));
  using sum = arithmetic<X>;
  const isize quarter = x.width / 4;
  const scratch_scope scope(ctx);
  sum* const place = ctx.scratch.take<sum>(2 * quarter);  // sin | cos
  if (ctx.measuring()) return;
  const auto find = [&](isize position) {
    for (isize i = 0; i < quarter; ++i) {
      const double angle = static_cast<double>(position) *
                           std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(quarter));
      place[i] = static_cast<sum>(std::sin(angle));
      place[quarter + i] = static_cast<sum>(std::cos(angle));
    }
  };
  const auto add_place = [&](X* row) {
    for (isize c = 0; c < 2 * quarter; ++c) row[c] = X(static_cast<sum>(row[c]) + place[c]);
  };
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    if (seq.rows_of(s) == 0) continue;
    const isize rows = pictures[s].rows, columns = pictures[s].columns, first = seq.begin(s) + lead;
    assert(seq.rows_of(s) == lead + rows * columns);
    for (isize position = 0; position < rows || position < columns; ++position) {
      find(position);
      for (isize k = 0; position < rows && k < columns; ++k) add_place(x.row(first + position * columns + k));
      for (isize k = 0; position < columns && k < rows; ++k)
        add_place(x.row(first + k * columns + position) + 2 * quarter);
    }
  }
}

}  // namespace motet::cpu
