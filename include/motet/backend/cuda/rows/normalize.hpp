// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/row_walk.hpp>
#include <motet/backend/cuda/kernels/samples.hpp>

#include <cmath>

namespace motet::cuda {
namespace detail {

template <class T, int N, int Runs, bool Block, class X, class Y, class L>
struct normalize_rows {
  static constexpr int most_threads = Block ? 512 : 256;
  matrix<const X> x;
  matrix<Y> y;
  matrix<L> lengths;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    T* const scratch = self.template shared<T>(Block ? warp_size : 0);
    for_rows<N, Runs, Block>(self, x.rows, x.width, [&](isize r, const auto& part) {
      const held_row<T, N, Runs, X> row(part, x.row(r));
      T square[1] = {};
      part.each([&](int k, isize column) {
        const auto v = row.at(k, column);
        MOTET_UNROLLED
        for (int i = 0; i < N; ++i) square[0] += v.of[i] * v.of[i];
      });
      row_sums<Block>(self, square, scratch);
      const T length = std::sqrt(square[0]), scale = length < T(1e-12) ? T(1) : T(1) / length;
      part.each([&](int k, isize column) {
        auto v = row.at(k, column);
        MOTET_UNROLLED
        for (int i = 0; i < N; ++i) v.of[i] *= scale;
        store_run(y.row(r) + column, v);
      });
      if (part.me == 0) lengths.row(r)[0] = static_cast<L>(length);
    });
  }
};

template <class T, int N, int Runs, bool Block, class Y, class L, class Dy, class Dx>
struct normalize_rows_backward {
  static constexpr int most_threads = Block ? 512 : 256;
  matrix<const Y> y;
  matrix<const L> lengths;
  matrix<const Dy> dy;
  matrix<Dx> dx;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    T* const scratch = self.template shared<T>(Block ? warp_size : 0);
    for_rows<N, Runs, Block>(self, y.rows, y.width, [&](isize r, const auto& part) {
      const held_row<T, N, Runs, Y> unit(part, y.row(r));
      const held_row<T, N, Runs, Dy> slope(part, dy.row(r));
      const T length = static_cast<T>(lengths.row(r)[0]), scale = length < T(1e-12) ? T(0) : T(1) / length;
      T along[1] = {};
      part.each([&](int k, isize column) {
        const auto u = unit.at(k, column), d = slope.at(k, column);
        MOTET_UNROLLED
        for (int i = 0; i < N; ++i) along[0] += u.of[i] * d.of[i];
      });
      row_sums<Block>(self, along, scratch);
      part.each([&](int k, isize column) {
        const auto u = unit.at(k, column);
        auto d = slope.at(k, column);
        MOTET_UNROLLED
        for (int i = 0; i < N; ++i) d.of[i] = (d.of[i] - u.of[i] * along[0]) * scale;
        store_run(dx.row(r) + column, d);
      });
    });
  }
};

}  // namespace detail

// y = x / |x|; may be the memory of x. Rows shorter than 1e-12 have no direction: they stay as they are, and
// no gradient passes. Floor: x is read once, y is written once.
template <class X, class Y, class L>
void normalize_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y, matrix<L> lengths) {
  ctx.note("normalize_forward", 3 * elements_in(x), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  using element = std::remove_const_t<X>;
  using number = arithmetic<X, Y, L>;
  constexpr int size = run_size<element, Y>;
  const matrix<X> own = rows_of(seq, x);
  for_row_shape<size, number>(own.rows, own.width, in_runs<size>(x) && in_runs<size>(y), 1, [&](auto shape) {
    using s = decltype(shape);
    launch(ctx.stream(), shape.over,
           detail::normalize_rows<number, s::size, s::runs, s::block, element, Y, L>{own, y, lengths});
  });
}

// dx = (dy - y (y . dy)) / length; may be the memory of dy. Floor: y and dy are read once, dx is written
// once.
template <class Y, class L, class Dy, class Dx>
void normalize_backward(context& ctx, const sequences& seq, matrix<Y> y, matrix<L> lengths, matrix<Dy> dy,
                        matrix<Dx> dx) {
  ctx.note("normalize_backward", 5 * elements_in(y), bytes_in(y) + bytes_in(dy) + bytes_in(dx));
  if (ctx.measuring()) return;
  using unit = std::remove_const_t<Y>;
  using slope = std::remove_const_t<Dy>;
  using number = arithmetic<Y, L, Dy, Dx>;
  constexpr int size = run_size<unit, slope, Dx>;
  const matrix<Y> own = rows_of(seq, y);
  for_row_shape<size, number>(
      own.rows, own.width, in_runs<size>(y) && in_runs<size>(dy) && in_runs<size>(dx), 1, [&](auto shape) {
        using s = decltype(shape);
        launch(ctx.stream(), shape.over,
               detail::normalize_rows_backward<number, s::size, s::runs, s::block, unit,
                                               std::remove_const_t<L>, slope, Dx>{own, lengths, dy, dx});
      });
}

}  // namespace motet::cuda
