// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/rows/activation.hpp>

namespace motet::cpu {

// Row of x: gate, then up, each as wide as y; y = silu(gate) * up (Shazeer, GLU Variants Improve
// Transformer).
template <class X, class Y>
void swiglu_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y) {
  ctx.note("swiglu_forward", 6 * elements_in(y), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  kernel_of<swiglu_kernel, X, Y>::run(part_of(x, own), part_of(y, own));
}

// dx may be the memory of x.
template <class X, class Dy, class Dx>
void swiglu_backward(context& ctx, const sequences& seq, matrix<X> x, matrix<Dy> dy, matrix<Dx> dx) {
  ctx.note("swiglu_backward", 12 * elements_in(dy), bytes_in(x) + bytes_in(dy) + bytes_in(dx));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  kernel_of<swiglu_backward_kernel, X, Dy, Dx>::run(part_of(x, own), part_of(dy, own), part_of(dx, own));
}

}  // namespace motet::cpu
