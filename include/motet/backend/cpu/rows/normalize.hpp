// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/row_kernels.hpp>

#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/normalize.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {

// y = x / |x|; may be the memory of x. Rows shorter than 1e-12 have no direction: they stay as they are, and
// no gradient passes.
template <class X, class Y, class L>
void normalize_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y, matrix<L> lengths) {
  ctx.note("normalize_forward", 3 * elements_in(x), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  using number = arithmetic<X, Y, L>;
  const interval own = ctx.own(seq);
  MOTET_SIMD_DISPATCH(, normalize_rows<number>(part_of(x, own), part_of(y, own), part_of(lengths, own)));
}

// dx = (dy - y (y . dy)) / length; may be the memory of dy.
template <class Y, class L, class Dy, class Dx>
void normalize_backward(context& ctx, const sequences& seq, matrix<Y> y, matrix<L> lengths, matrix<Dy> dy,
                        matrix<Dx> dx) {
  ctx.note("normalize_backward", 5 * elements_in(y), bytes_in(y) + bytes_in(dy) + bytes_in(dx));
  if (ctx.measuring()) return;
  using number = arithmetic<Y, L, Dy, Dx>;
  const interval own = ctx.own(seq);
  MOTET_SIMD_DISPATCH(, normalize_rows_backward<number>(part_of(y, own), part_of(lengths, own),
                                                        part_of(dy, own), part_of(dx, own)));
}

}  // namespace motet::cpu
