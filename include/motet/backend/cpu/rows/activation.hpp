// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/row_kernels.hpp>
#include <motet/backend/cpu/kernels/vector_math.hpp>
#include <motet/nn/core/operations.hpp>

#include <type_traits>

#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/activation.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {
// y may be the memory of x.
template <class X, class Y>
void activation_forward(context& ctx, const sequences& seq, activation kind, matrix<X> x, matrix<Y> y) {
  ctx.note("activation_forward", 8 * elements_in(x), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  using number = arithmetic<X, Y>;
  const interval own = ctx.own(seq);
  for_activation(kind, [&](auto which) {
    constexpr activation chosen = decltype(which)::value;
    MOTET_SIMD_DISPATCH(, activation_rows<chosen, number>(part_of(x, own), part_of(y, own)));
  });
}

// dx may be the memory of x or dy.
template <class X, class Dy, class Dx>
void activation_backward(context& ctx, const sequences& seq, activation kind, matrix<X> x, matrix<Dy> dy,
                         matrix<Dx> dx) {
  ctx.note("activation_backward", 14 * elements_in(x), bytes_in(x) + bytes_in(dy) + bytes_in(dx));
  if (ctx.measuring()) return;
  using number = arithmetic<X, Dy, Dx>;
  const interval own = ctx.own(seq);
  for_activation(kind, [&](auto which) {
    constexpr activation chosen = decltype(which)::value;
    MOTET_SIMD_DISPATCH(
        , activation_rows_backward<chosen, number>(part_of(x, own), part_of(dy, own), part_of(dx, own)));
  });
}

}  // namespace motet::cpu
