// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/row_kernels.hpp>

namespace motet::cpu {

template <class Y>
void zero(context& ctx, const sequences& seq, matrix<Y> y) {
  ctx.note("zero", 0, detail::bytes_in(y));
  if (ctx.measuring()) return;
  detail::clear_rows(detail::part(y, ctx.own(seq)));
}

// y may be the memory of a or b.
template <class A, class B, class Y>
void add(context& ctx, const sequences& seq, matrix<A> a, matrix<B> b, matrix<Y> y) {
  ctx.note("add", detail::elements_in(y), detail::bytes_in(a) + detail::bytes_in(b) + detail::bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  detail::sum_rows(detail::part(a, own), detail::part(b, own), detail::part(y, own));
}

template <class X, class Y>
void copy(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y) {
  ctx.note("copy", 0, detail::bytes_in(x) + detail::bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  detail::convert_rows(detail::part(x, own), detail::part(y, own));
}

}  // namespace motet::cpu
