// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>

namespace motet::cpu {

template <class Y>
void zero(context& ctx, const sequences& seq, matrix<Y> y) {
  ctx.note("zero", 0, bytes_in(y));
  if (ctx.measuring()) return;
  clear_rows(part_of(y, ctx.own(seq)));
}

// y may be the memory of a or b.
template <class A, class B, class Y>
void add(context& ctx, const sequences& seq, matrix<A> a, matrix<B> b, matrix<Y> y) {
  ctx.note("add", elements_in(y), bytes_in(a) + bytes_in(b) + bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  sum_rows(part_of(a, own), part_of(b, own), part_of(y, own));
}

// y = factor x; may be the same memory.
template <class X, class Y>
void scale_rows(context& ctx, const sequences& seq, double factor, matrix<X> x, matrix<Y> y) {
  ctx.note("scale_rows", elements_in(y), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  convert_rows(part_of(x, own), part_of(y, own), factor);
}

template <class X, class Y>
void copy(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y) {
  ctx.note("copy", 0, bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  convert_rows(part_of(x, own), part_of(y, own));
}

}  // namespace motet::cpu
