// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/nn/core/operations.hpp>

#include <type_traits>

#if MOTET_KERNEL_BODIES
#include <motet/backend/cpu/kernels/vector_math.hpp>
#endif

namespace motet::cpu {

template <class X, class Y>
struct activation_kernel {
  static void run(activation kind, matrix<const X> x, matrix<Y> y);
};
template <class X, class Dy, class Dx>
struct activation_backward_kernel {
  static void run(activation kind, matrix<const X> x, matrix<const Dy> dy, matrix<Dx> dx);
};
template <class X, class Y>
struct swiglu_kernel {
  static void run(matrix<const X> x, matrix<Y> y);
};
template <class X, class Dy, class Dx>
struct swiglu_backward_kernel {
  static void run(matrix<const X> x, matrix<const Dy> dy, matrix<Dx> dx);
};

// y may be the memory of x.
template <class X, class Y>
void activation_forward(context& ctx, const sequences& seq, activation kind, matrix<X> x, matrix<Y> y) {
  ctx.note("activation_forward", 8 * elements_in(x), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  kernel_of<activation_kernel, X, Y>::run(kind, part_of(x, own), part_of(y, own));
}

// dx may be the memory of x or dy.
template <class X, class Dy, class Dx>
void activation_backward(context& ctx, const sequences& seq, activation kind, matrix<X> x, matrix<Dy> dy,
                         matrix<Dx> dx) {
  ctx.note("activation_backward", 14 * elements_in(x), bytes_in(x) + bytes_in(dy) + bytes_in(dx));
  if (ctx.measuring()) return;
  const interval own = ctx.own(seq);
  kernel_of<activation_backward_kernel, X, Dy, Dx>::run(kind, part_of(x, own), part_of(dy, own),
                                                        part_of(dx, own));
}

}  // namespace motet::cpu

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/rows/activation.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {

template <class X, class Y>
void activation_kernel<X, Y>::run(activation kind, matrix<const X> x, matrix<Y> y) {
  using number = arithmetic<X, Y>;
  for_activation(kind, [&](auto which) {
    constexpr activation chosen = decltype(which)::value;
    MOTET_SIMD_DISPATCH(, activation_rows<chosen, number>(x, y));
  });
}
template <class X, class Dy, class Dx>
void activation_backward_kernel<X, Dy, Dx>::run(activation kind, matrix<const X> x, matrix<const Dy> dy,
                                                matrix<Dx> dx) {
  using number = arithmetic<X, Dy, Dx>;
  for_activation(kind, [&](auto which) {
    constexpr activation chosen = decltype(which)::value;
    MOTET_SIMD_DISPATCH(, activation_rows_backward<chosen, number>(x, dy, dx));
  });
}
template <class X, class Y>
void swiglu_kernel<X, Y>::run(matrix<const X> x, matrix<Y> y) {
  using number = arithmetic<X, Y>;
  MOTET_SIMD_DISPATCH(, swiglu_rows<number>(x, y));
}
template <class X, class Dy, class Dx>
void swiglu_backward_kernel<X, Dy, Dx>::run(matrix<const X> x, matrix<const Dy> dy, matrix<Dx> dx) {
  using number = arithmetic<X, Dy, Dx>;
  MOTET_SIMD_DISPATCH(, swiglu_rows_backward<number>(x, dy, dx));
}

}  // namespace motet::cpu
#endif
