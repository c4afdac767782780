// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>

namespace motet::cpu {

template <class L, class X, class Y>
struct normalize_kernel {
  static void run(matrix<const X> x, matrix<Y> y, matrix<L> lengths);
};
template <class L, class Y, class Dy, class Dx>
struct normalize_backward_kernel {
  static void run(matrix<const Y> y, matrix<const L> lengths, matrix<const Dy> dy, matrix<Dx> dx);
};

// y = x / |x|; may be the memory of x. Rows shorter than 1e-12 have no direction: they stay as they are, and
// no gradient passes.
template <class X, class Y, class L>
void normalize_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y, matrix<L> lengths) {
  ctx.note("normalize_forward", 3 * elements_in(x), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  kernel_of<normalize_kernel, L, X, Y>::run(part_of(x, own), part_of(y, own), part_of(lengths, own));
}

// dx = (dy - y (y . dy)) / length; may be the memory of dy.
template <class Y, class L, class Dy, class Dx>
void normalize_backward(context& ctx, const sequences& seq, matrix<Y> y, matrix<L> lengths, matrix<Dy> dy,
                        matrix<Dx> dx) {
  ctx.note("normalize_backward", 5 * elements_in(y), bytes_in(y) + bytes_in(dy) + bytes_in(dx));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  kernel_of<normalize_backward_kernel, L, Y, Dy, Dx>::run(part_of(y, own), part_of(lengths, own),
                                                          part_of(dy, own), part_of(dx, own));
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/rows/normalize.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {

template <class L, class X, class Y>
void normalize_kernel<L, X, Y>::run(matrix<const X> x, matrix<Y> y, matrix<L> lengths) {
  using number = arithmetic<X, Y, L>;
  MOTET_SIMD_DISPATCH(, normalize_rows<number>(x, y, lengths));
}
template <class L, class Y, class Dy, class Dx>
void normalize_backward_kernel<L, Y, Dy, Dx>::run(matrix<const Y> y, matrix<const L> lengths,
                                                  matrix<const Dy> dy, matrix<Dx> dx) {
  using number = arithmetic<Y, L, Dy, Dx>;
  MOTET_SIMD_DISPATCH(, normalize_rows_backward<number>(y, lengths, dy, dx));
}

}  // namespace motet::cpu
#endif
