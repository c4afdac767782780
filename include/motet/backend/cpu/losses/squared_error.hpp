// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cpu/device/context.hpp>
#include <motet/nn/core/operations.hpp>

namespace motet::cpu {

// error = x - target, and y has a number for each sample: factor times the sum of its squares, added up row
// after row in double.
template <class X, class T, class E, class Y>
void squared_error_forward(context& ctx, const sequences& seq, double factor, matrix<X> x, matrix<T> target,
                           matrix<E> error, matrix<Y> y) {
  ctx.note("squared_error_forward", 3 * elements_in(x), bytes_in(x) + bytes_in(target) + bytes_in(error));
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    double sum = 0;
    for (isize r = seq.begin(s); r < seq.end(s); ++r)
      for (isize c = 0; c < x.width; ++c) {
        const auto off = static_cast<double>(x.row(r)[c]) - static_cast<double>(target.row(r)[c]);
        error.row(r)[c] = static_cast<E>(static_cast<arithmetic<E>>(off));
        sum += off * off;
      }
    *y.row(s) = static_cast<Y>(static_cast<arithmetic<Y>>(factor * sum));
  }
}

// dx = 2 factor dy error
template <class E, class Dy, class Dx>
void squared_error_backward(context& ctx, const sequences& seq, double factor, matrix<E> error, matrix<Dy> dy,
                            matrix<Dx> dx) {
  ctx.note("squared_error_backward", elements_in(dx), bytes_in(error) + bytes_in(dx));
  if (ctx.measuring()) return;
  using number = arithmetic<E, Dy, Dx>;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    const auto slope = static_cast<number>(2 * factor * static_cast<double>(*dy.row(s)));
    for (isize r = seq.begin(s); r < seq.end(s); ++r)
      for (isize c = 0; c < dx.width; ++c)
        dx.row(r)[c] = static_cast<Dx>(slope * static_cast<number>(error.row(r)[c]));
  }
}

}  // namespace motet::cpu
