// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/nn/core/operations.hpp>

namespace motet::cpu {

// One row for each sample: its first or last; zeros for a sample without rows.
template <class X, class Y>
void pick_forward(context& ctx, const sequences& seq, pick which, matrix<X> x, matrix<Y> y) {
  ctx.note("pick_forward", 0, 2 * bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    if (seq.rows_of(s) == 0) clear_rows(y.slice(s, 1));
    else convert_rows(x.slice(which == pick::first ? seq.begin(s) : seq.end(s) - 1, 1), y.slice(s, 1));
  }
}

// Adds, as the rows that were not picked have their own gradient or were set to zero before.
template <class Dy, class Dx>
void pick_backward(context& ctx, const sequences& seq, pick which, matrix<Dy> dy, matrix<Dx> dx) {
  ctx.note("pick_backward", elements_in(dy), 3 * bytes_in(dy));
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    if (seq.rows_of(s) == 0) continue;
    const matrix<Dx> row = dx.slice(which == pick::first ? seq.begin(s) : seq.end(s) - 1, 1);
    sum_rows(row, dy.slice(s, 1), row);
  }
}

namespace detail {

// y = factor(sample) times the sum over the rows of each sample.
template <class X, class Y, class Factor>
void sum_samples(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y, Factor&& factor) {
  using number = arithmetic<X, Y>;
  const scratch_scope scope(ctx);
  const matrix<number> sums{ctx.scratch.take<number>(x.width), 1, x.width, x.width};
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    clear_rows(sums);
    sum_columns(x.slice(seq.begin(s), seq.rows_of(s)), sums.data);
    convert_rows(sums, y.slice(s, 1), factor(s));
  }
}
// Overwrites every row of dx.
template <class Dy, class Dx, class Factor>
void spread_samples(context& ctx, const sequences& seq, matrix<Dy> dy, matrix<Dx> dx, Factor&& factor) {
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s)
    for (isize r = seq.begin(s); r < seq.end(s); ++r) convert_rows(dy.slice(s, 1), dx.slice(r, 1), factor(s));
}
inline auto one_over_rows(const sequences& seq) {
  return [seq](isize s) { return seq.rows_of(s) == 0 ? 0.0 : 1 / static_cast<double>(seq.rows_of(s)); };
}

}  // namespace detail

template <class X, class Y>
void mean_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y) {
  ctx.note("mean_forward", elements_in(x), bytes_in(x) + bytes_in(y));
  detail::sum_samples(ctx, seq, x, y, detail::one_over_rows(seq));
}
template <class X, class Y>
void sum_forward(context& ctx, const sequences& seq, double factor, matrix<X> x, matrix<Y> y) {
  ctx.note("sum_forward", elements_in(x), bytes_in(x) + bytes_in(y));
  detail::sum_samples(ctx, seq, x, y, [=](isize) { return factor; });
}

// Overwrites every row of dx.
template <class Dy, class Dx>
void mean_backward(context& ctx, const sequences& seq, matrix<Dy> dy, matrix<Dx> dx) {
  ctx.note("mean_backward", elements_in(dx), bytes_in(dy) + bytes_in(dx));
  detail::spread_samples(ctx, seq, dy, dx, detail::one_over_rows(seq));
}
template <class Dy, class Dx>
void sum_backward(context& ctx, const sequences& seq, double factor, matrix<Dy> dy, matrix<Dx> dx) {
  ctx.note("sum_backward", elements_in(dx), bytes_in(dy) + bytes_in(dx));
  detail::spread_samples(ctx, seq, dy, dx, [=](isize) { return factor; });
}

}  // namespace motet::cpu
