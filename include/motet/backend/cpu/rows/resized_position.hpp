// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/tensor/cubic_axis.hpp>

namespace motet::cpu {
namespace detail {

// Calls use(row of a grid of `to` points along each side, row of the one of `from`, weight), `lead` rows
// before both.
template <class Use>
void each_tap(isize lead, const cubic_axis& along_rows, const cubic_axis& along_columns, interval rows,
              Use&& use) {
  for (isize row = rows.begin; row < rows.end; ++row) {
    if (row < lead) {
      use(row, row, 1.0);
      continue;
    }
    const auto down = along_rows.of((row - lead) / along_columns.to),
               right = along_columns.of((row - lead) % along_columns.to);
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b)
        use(row, lead + down.at[a] * along_columns.from + right.at[b], down.weight[a] * right.weight[b]);
  }
}

}  // namespace detail

// The table's square grid behind `lead` rows, at other points.
template <class M, class Y>
void resize_positions(context& ctx, isize lead, const cubic_axis& axis, matrix<M> table, matrix<Y> y) {
  ctx.note("resize_positions", 32 * elements_in(y), bytes_in(table) + bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own(y.rows, 1);
  for (isize row = own.begin; row < own.end; ++row)
    for (isize c = 0; c < y.width; ++c) y.row(row)[c] = Y(0);
  detail::each_tap(lead, axis, axis, own, [&](isize to, isize from, double weight) {
    const auto part = static_cast<Y>(weight);
    for (isize c = 0; c < y.width; ++c) y.row(to)[c] += part * table.row(from)[c];
  });
}
template <class Dy, class M>
void resize_positions_backward(context& ctx, isize lead, const cubic_axis& axis, matrix<Dy> dy,
                               matrix<M> dtable) {
  ctx.note("resize_positions_backward", 32 * elements_in(dy), bytes_in(dy) + 2 * bytes_in(dtable));
  if (ctx.measuring()) return;
  const interval own = ctx.own(dy.width);
  detail::each_tap(lead, axis, axis, {0, dy.rows}, [&](isize to, isize from, double weight) {
    const auto part = static_cast<M>(weight);
    for (isize c = own.begin; c < own.end; ++c) dtable.row(from)[c] += part * dy.row(to)[c];
  });
}

}  // namespace motet::cpu
