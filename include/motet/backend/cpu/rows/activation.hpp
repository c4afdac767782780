// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/row_kernels.hpp>
#include <motet/backend/cpu/kernels/vector_math.hpp>
#include <motet/nn/core/operations.hpp>

#include <type_traits>

#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/activation.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu {
namespace detail {

// Calls run with the kind as a type, so that loops hold no switch.
template <class Run>
void for_activation(activation kind, Run&& run) {
  switch (kind) {
    case activation::none: return run(std::integral_constant<activation, activation::none>{});
    case activation::gelu: return run(std::integral_constant<activation, activation::gelu>{});
    case activation::gelu_tanh: return run(std::integral_constant<activation, activation::gelu_tanh>{});
    case activation::quick_gelu: return run(std::integral_constant<activation, activation::quick_gelu>{});
    case activation::relu: return run(std::integral_constant<activation, activation::relu>{});
    case activation::silu: return run(std::integral_constant<activation, activation::silu>{});
  }
}

}  // namespace detail

// y may be the memory of x.
template <class X, class Y>
void activation_forward(context& ctx, const sequences& seq, activation kind, matrix<X> x, matrix<Y> y) {
  ctx.note("activation_forward", 8 * detail::elements_in(x), detail::bytes_in(x) + detail::bytes_in(y));
  if (ctx.measuring()) return;
  using number = detail::arithmetic<X, Y>;
  const interval own = ctx.own(seq);
  detail::for_activation(kind, [&](auto which) {
    constexpr activation chosen = decltype(which)::value;
    MOTET_SIMD_DISPATCH(, activation_rows<chosen, number>(detail::part(x, own), detail::part(y, own)));
  });
}

// dx may be the memory of x or dy.
template <class X, class Dy, class Dx>
void activation_backward(context& ctx, const sequences& seq, activation kind, matrix<X> x, matrix<Dy> dy,
                         matrix<Dx> dx) {
  ctx.note("activation_backward", 14 * detail::elements_in(x),
           detail::bytes_in(x) + detail::bytes_in(dy) + detail::bytes_in(dx));
  if (ctx.measuring()) return;
  using number = detail::arithmetic<X, Dy, Dx>;
  const interval own = ctx.own(seq);
  detail::for_activation(kind, [&](auto which) {
    constexpr activation chosen = decltype(which)::value;
    MOTET_SIMD_DISPATCH(, activation_rows_backward<chosen, number>(
                              detail::part(x, own), detail::part(dy, own), detail::part(dx, own)));
  });
}

}  // namespace motet::cpu
