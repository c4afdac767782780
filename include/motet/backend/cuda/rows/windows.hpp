// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/each_run.hpp>
#include <motet/backend/cuda/kernels/samples.hpp>
#include <motet/nn/core/operations.hpp>

namespace motet::cuda {
namespace detail {

template <class T, class X, class Y>
struct cut_to_windows {
  template <int N>
  struct held {
    run<T, N> y;
    isize row;
  };
  padded_rows rows;
  row_windows windows;
  divisor taps;
  matrix<const X> x;
  matrix<Y> y;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize number, isize column, held<N>& kept) const {
    const auto here = rows.at(number);
    if (here.row < 0) return false;
    kept = {{}, here.row};
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) {
      auto tap = static_cast<std::uint32_t>(column + i);
      const isize from = taps.divide(tap), at = here.position * windows.stride + static_cast<isize>(tap) - 1;
      if (from < x.width && at >= 0 && at < windows.length)
        kept.y.of[i] = load_run<T, 1>(x.row(here.sample * windows.length + at) + from).of[0];
    }
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize, isize column, held<N>& kept) const {
    store_run(y.row(kept.row) + column, kept.y);
  }
};

template <class T, class Dy, class Dx>
struct sum_of_windows {
  template <int N>
  struct held {
    run<T, N> dx;
    isize row;
  };
  padded_rows rows;
  row_windows windows;
  divisor stride;
  matrix<const Dy> dy;
  matrix<Dx> dx;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize number, isize column, held<N>& kept) const {
    const auto here = rows.at(number);
    if (here.row < 0) return false;
    kept = {{}, here.row};
    for (isize k = 0; k < row_windows::taps; ++k) {
      const isize start = here.position + 1 - k;
      if (start < 0) continue;
      auto rest = static_cast<std::uint32_t>(start);
      const isize t = stride.divide(rest);
      if (rest != 0 || t >= windows.rows()) continue;
      const Dy* const from = dy.row(here.sample * windows.rows() + t) + k;
      MOTET_UNROLLED
      for (int i = 0; i < N; ++i)
        kept.dx.of[i] += load_run<T, 1>(from + row_windows::taps * (column + i)).of[0];
    }
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize, isize column, held<N>& kept) const {
    store_run(dx.row(kept.row) + column, kept.dx);
  }
};

}  // namespace detail

// Rows of y are three neighbours of x, number by number, in the order of a convolution's weight, so that such
// a convolution along time becomes a linear layer on them. Floor: y is written once; x, which is read thrice,
// stays in the cache.
template <class X, class Y>
void windows_forward(context& ctx, const sequences& seq, const row_windows& windows, matrix<X> x,
                     matrix<Y> y) {
  ctx.note("windows_forward", 0, bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  using from = std::remove_const_t<X>;
  constexpr int size = run_size<Y>;
  for_each_run<size>(ctx,
                     detail::cut_to_windows<arithmetic<X, Y>, from, Y>{padded(ctx, seq), windows,
                                                                       divisor(row_windows::taps), x, y},
                     padded_count(seq), y.width, in_runs<size>(y));
}

// Sums what the windows that a row stands in want of it. Floor: dy is read once, dx is written once.
template <class Dy, class Dx>
void windows_backward(context& ctx, const sequences& seq, const row_windows& windows, matrix<Dy> dy,
                      matrix<Dx> dx) {
  ctx.note("windows_backward", 2 * elements_in(dx), bytes_in(dy) + bytes_in(dx));
  if (ctx.measuring()) return;
  using slope = std::remove_const_t<Dy>;
  constexpr int size = run_size<Dx>;
  for_each_run<size>(ctx,
                     detail::sum_of_windows<arithmetic<Dy, Dx>, slope, Dx>{padded(ctx, seq), windows,
                                                                           divisor(windows.stride), dy, dx},
                     padded_count(seq), dx.width, in_runs<size>(dx));
}

}  // namespace motet::cuda
