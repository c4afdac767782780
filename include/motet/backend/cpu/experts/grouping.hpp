// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/nn/core/routing.hpp>

namespace motet::cpu::detail {

// to = residual (or nothing) + the sum of scale[i] * from[i], in order.
template <class T, class X, class R, class Y>
struct combine_kernel {
  static void run(const X* const* from, const T* scale, isize count, const R* residual, Y* to, isize width);
};

// A grouping has memory for up to `most` positions of the choices of up to `rows` rows.
inline grouping take_grouping(context& ctx, isize keys, isize rows, isize top_k, isize most) {
  grouping by;
  by.keys = keys;
  by.starts = ctx.memory.take<isize>(keys + 1);
  by.position = {ctx.memory.take<std::int32_t>(rows * top_k), rows, top_k, top_k};
  by.source = ctx.memory.take<std::int32_t>(most);
  by.most = most;
  return by;
}

// Sorts all choices by key(row, number), where negative ones get no position. Every thread counts all of
// them, as that needs no meeting, and sorts those of its own rows; the caller synchronises before and after.
template <class Key>
void sort_choices(context& ctx, isize rows, interval own, grouping& by, Key key) {
  const isize top_k = by.position.width;
  const scratch_scope scope(ctx);
  isize* const next = ctx.scratch.take<isize>(by.keys + 1);
  isize* const before = ctx.scratch.take<isize>(by.keys + 1);
  for (isize k = 0; k <= by.keys; ++k) next[k] = before[k] = 0;
  for (isize r = 0; r < rows; ++r) {
    for (isize j = 0; j < top_k; ++j) {
      const isize k = key(r, j);
      if (k < 0) continue;
      ++next[k];
      if (r < own.begin) ++before[k];
    }
  }
  isize sum = 0;
  for (isize k = 0; k <= by.keys; ++k) {
    const isize here = next[k];
    if (ctx.thread == 0) by.starts[k] = sum;
    next[k] = sum + before[k];
    sum += here;
  }
  by.count = sum;
  for (isize r = own.begin; r < own.end; ++r) {
    for (isize j = 0; j < top_k; ++j) {
      const isize k = key(r, j);
      if (k >= 0) by.source[next[k]] = static_cast<std::int32_t>(r * top_k + j);
      by.position.row(r)[j] = k >= 0 ? static_cast<std::int32_t>(next[k]++) : -1;
    }
  }
}

// Each position that this thread fills gets the row that its choice is of.
template <class X, class Y>
void spread_rows_to(const grouping& by, interval positions, matrix<X> x, matrix<Y> y) {
  for (isize p = positions.begin; p < positions.end; ++p) {
    const auto from = x.slice(by.source[p] / by.position.width, 1);
    if constexpr (std::is_same_v<std::remove_const_t<X>, Y>)
      std::memcpy(static_cast<void*>(y.row(p)), from.data, as_size(y.width) * sizeof(Y));
    else convert_rows(from, y.slice(p, 1));
  }
}

// y = residual (may be empty) + the sum of what lies at a row's positions, weighed with the gates of its
// choices where they are given.
template <class Real, class X, class R, class Y>
void collect_rows(context& ctx, const grouping& by, interval own, matrix<X> from, const choice<Real>* gates,
                  matrix<R> residual, matrix<Y> y) {
  using number = arithmetic<X, R, Y, Real>;
  const isize top_k = by.position.width;
  const scratch_scope scope(ctx);
  auto* const rows = ctx.scratch.take<const std::remove_const_t<X>*>(top_k);
  number* const scale = ctx.scratch.take<number>(top_k);
  for (isize r = own.begin; r < own.end; ++r) {
    isize count = 0;
    for (isize j = 0; j < top_k; ++j) {
      if (by.position.row(r)[j] < 0) continue;
      rows[count] = from.row(by.position.row(r)[j]);
      scale[count++] = gates != nullptr ? static_cast<number>(gates[r * top_k + j].gate) : number(1);
    }
    const std::remove_const_t<R>* beside = residual ? residual.row(r) : nullptr;
    kernel_of<combine_kernel, number, X, R, Y>::run(rows, scale, count, beside, y.row(r), y.width);
  }
}

}  // namespace motet::cpu::detail

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/rows/grouping.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu::detail {

template <class T, class X, class R, class Y>
void combine_kernel<T, X, R, Y>::run(const X* const* from, const T* scale, isize count, const R* residual,
                                     Y* to, isize width) {
  MOTET_SIMD_DISPATCH(, combine_row<T>(from, scale, count, residual, to, width));
}

}  // namespace motet::cpu::detail
#endif
