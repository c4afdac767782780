// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/activation_math.hpp>
#include <motet/backend/cuda/kernels/each_run.hpp>
#include <motet/backend/cuda/kernels/samples.hpp>

namespace motet::cuda {
namespace detail {

template <activation Kind>
struct activated {
  template <class T>
  MOTET_HOST_DEVICE T operator()(T x) const {
    return activate(Kind, x);
  }
};
template <activation Kind>
struct activation_slope {
  template <class T>
  MOTET_HOST_DEVICE T operator()(T x, T dy) const {
    T value;
    return dy * derivative(Kind, x, value);
  }
};

}  // namespace detail

// y may be the memory of x. Floor: x is read once, y is written once.
template <class X, class Y>
void activation_forward(context& ctx, const sequences& seq, activation kind, matrix<X> x, matrix<Y> y) {
  ctx.note("activation_forward", 8 * elements_in(x), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  for_activation(kind, [&](auto which) {
    map_numbers(ctx, rows_of(seq, x), rows_of(seq, y), detail::activated<decltype(which)::value>{});
  });
}

// dx may be the memory of x or dy. Floor: x and dy are read once, dx is written once.
template <class X, class Dy, class Dx>
void activation_backward(context& ctx, const sequences& seq, activation kind, matrix<X> x, matrix<Dy> dy,
                         matrix<Dx> dx) {
  ctx.note("activation_backward", 14 * elements_in(x), bytes_in(x) + bytes_in(dy) + bytes_in(dx));
  if (ctx.measuring()) return;
  for_activation(kind, [&](auto which) {
    map_numbers(ctx, rows_of(seq, x), rows_of(seq, dy), rows_of(seq, dx),
                detail::activation_slope<decltype(which)::value>{});
  });
}

}  // namespace motet::cuda
