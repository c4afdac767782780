// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/rows/activation.hpp>

namespace motet::cuda {

namespace detail {

template <class T>
struct silu_gate {
  MOTET_HOST_DEVICE T operator()(T gate, T up) const { return activate(activation::silu, gate) * up; }
};

template <class T, class X, class Dy, class Dx>
struct swiglu_slopes {
  template <int N>
  struct held {
    run<T, N> gate, up, slope;
  };
  matrix<const X> gate, up;
  matrix<const Dy> dy;
  matrix<Dx> dgate, dup;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize row, isize column, held<N>& kept) const {
    kept = {load_run<T, N>(gate.row(row) + column), load_run<T, N>(up.row(row) + column),
            load_run<T, N>(dy.row(row) + column)};
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize row, isize column, held<N>& kept) const {
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) {
      T value;
      const T turn = derivative(activation::silu, kept.gate.of[i], value);
      kept.gate.of[i] = kept.slope.of[i] * kept.up.of[i] * turn;
      kept.up.of[i] = kept.slope.of[i] * value;
    }
    store_run(dgate.row(row) + column, kept.gate);
    store_run(dup.row(row) + column, kept.up);
  }
};

}  // namespace detail

// Row of x: gate, then up, each as wide as y; y = silu(gate) * up (Shazeer, GLU Variants Improve
// Transformer). Floor: x is read once, y is written once.
template <class X, class Y>
void swiglu_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y) {
  ctx.note("swiglu_forward", 6 * elements_in(y), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  x = rows_of(seq, x);
  map_numbers(ctx, x.columns(0, y.width), x.columns(y.width, y.width), rows_of(seq, y),
              detail::silu_gate<arithmetic<X, Y>>{});
}

// dx may be the memory of x. Floor: x and dy are read once, dx is written once.
template <class X, class Dy, class Dx>
void swiglu_backward(context& ctx, const sequences& seq, matrix<X> x, matrix<Dy> dy, matrix<Dx> dx) {
  ctx.note("swiglu_backward", 12 * elements_in(dy), bytes_in(x) + bytes_in(dy) + bytes_in(dx));
  if (ctx.measuring()) return;
  using from = std::remove_const_t<X>;
  using slope = std::remove_const_t<Dy>;
  constexpr int size = run_size<from, slope, Dx>;
  const isize w = dy.width;
  const detail::swiglu_slopes<arithmetic<X, Dy, Dx>, from, slope, Dx> operation{
      x.columns(0, w), x.columns(w, w), dy, dx.columns(0, w), dx.columns(w, w)};
  const bool packed = in_runs<size>(operation.gate) && in_runs<size>(operation.up) && in_runs<size>(dy) &&
                      in_runs<size>(operation.dgate) && in_runs<size>(operation.dup);
  for_each_run<size>(ctx, operation, seq.rows(), w, packed);
}

}  // namespace motet::cuda
