// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/rows/activation.hpp>

namespace motet::cpu {

// Row of x: gate, then up, each as wide as y; y = silu(gate) * up (Shazeer, GLU Variants Improve
// Transformer).
template <class X, class Y>
void swiglu_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y) {
  ctx.note("swiglu_forward", 6 * detail::elements_in(y), detail::bytes_in(x) + detail::bytes_in(y));
  if (ctx.measuring()) return;
  using number = detail::arithmetic<X, Y>;
  const interval own = ctx.own(seq);
  MOTET_SIMD_DISPATCH(, swiglu_rows<number>(detail::part(x, own), detail::part(y, own)));
}

// dx may be the memory of x.
template <class X, class Dy, class Dx>
void swiglu_backward(context& ctx, const sequences& seq, matrix<X> x, matrix<Dy> dy, matrix<Dx> dx) {
  ctx.note("swiglu_backward", 12 * detail::elements_in(dy),
           detail::bytes_in(x) + detail::bytes_in(dy) + detail::bytes_in(dx));
  if (ctx.measuring()) return;
  using number = detail::arithmetic<X, Dy, Dx>;
  const interval own = ctx.own(seq);
  MOTET_SIMD_DISPATCH(
      , swiglu_rows_backward<number>(detail::part(x, own), detail::part(dy, own), detail::part(dx, own)));
}

}  // namespace motet::cpu
