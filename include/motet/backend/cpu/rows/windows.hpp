// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/nn/core/operations.hpp>

#include <cassert>

namespace motet::cpu {

// Rows of y are three neighbours of x, number by number, in the order of a convolution's weight, so that such
// a convolution along time becomes a linear layer on them.
template <class X, class Y>
void windows_forward(context& ctx, const sequences& seq, const row_windows& windows, matrix<X> x,
                     matrix<Y> y) {
  ctx.note("windows_forward", 0, bytes_in(x) + bytes_in(y));
  using number = arithmetic<X, Y>;
  using from = std::remove_const_t<X>;
  constexpr isize taps = row_windows::taps;
  const scratch_scope scope(ctx);
  from* const outside = ctx.scratch.take<from>(x.width);
  if (ctx.measuring()) return;
  clear_rows(matrix<from>{outside, 1, x.width, x.width});
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    assert(seq.rows_of(s) == windows.rows());
    for (isize t = 0; t < seq.rows_of(s); ++t) {
      const auto neighbour = [&](isize k) -> const from* {
        const isize at = t * windows.stride + k - 1;
        return at < 0 || at >= windows.length ? outside : x.row(s * windows.length + at);
      };
      const from *before = neighbour(0), *here = neighbour(1), *after = neighbour(2);
      Y* const to = y.row(seq.begin(s) + t);
      for (isize c = 0; c < x.width; ++c) {
        to[taps * c] = Y(static_cast<number>(before[c]));
        to[taps * c + 1] = Y(static_cast<number>(here[c]));
        to[taps * c + 2] = Y(static_cast<number>(after[c]));
      }
    }
    clear_rows(y.slice(seq.begin(s), seq.rows_of(s)).columns(taps * x.width, y.width - taps * x.width));
  }
}

// Sums what the windows that a row stands in want of it.
template <class Dy, class Dx>
void windows_backward(context& ctx, const sequences& seq, const row_windows& windows, matrix<Dy> dy,
                      matrix<Dx> dx) {
  ctx.note("windows_backward", 2 * elements_in(dx), bytes_in(dy) + bytes_in(dx));
  if (ctx.measuring()) return;
  using number = arithmetic<Dy, Dx>;
  constexpr isize taps = row_windows::taps;
  const isize rows = windows.rows();
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    assert(seq.rows_of(s) == windows.length);
    for (isize f = 0; f < seq.rows_of(s); ++f) {
      const std::remove_const_t<Dy>* of[taps];
      int count = 0;
      for (isize k = 0; k < taps; ++k) {
        const isize start = f + 1 - k, t = start / windows.stride;
        if (start >= 0 && start % windows.stride == 0 && t < rows) of[count++] = dy.row(s * rows + t) + k;
      }
      Dx* const to = dx.row(seq.begin(s) + f);
      for (isize c = 0; c < dx.width; ++c) {
        number sum = 0;
        for (int i = 0; i < count; ++i) sum += static_cast<number>(of[i][taps * c]);
        to[c] = Dx(sum);
      }
    }
  }
}

}  // namespace motet::cpu
