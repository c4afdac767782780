// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/each_run.hpp>
#include <motet/backend/cuda/kernels/samples.hpp>

namespace motet::cuda {
namespace detail {

template <class Y>
struct cleared {
  template <int N>
  struct held {};
  matrix<Y> y;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize, isize, held<N>&) const {
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize row, isize column, held<N>&) const {
    const run<Y, N> nothing{};
    store_run(y.row(row) + column, nothing);
  }
};

}  // namespace detail

struct unchanged {
  static constexpr bool keeps_type = true;
  template <class T>
  MOTET_HOST_DEVICE T operator()(T value) const {
    return value;
  }
};

struct times {
  double factor;
  template <class T>
  MOTET_HOST_DEVICE T operator()(T value) const {
    return value * static_cast<T>(factor);
  }
};

// Floor: y is written once.
template <class Y>
void zero(context& ctx, const sequences& seq, matrix<Y> y) {
  ctx.note("zero", 0, bytes_in(y));
  if (ctx.measuring()) return;
  y = rows_of(seq, y);
  constexpr int size = run_size<Y>;
  join_rows(y);
  for_each_run<size>(ctx, detail::cleared<Y>{y}, y.rows, y.width, in_runs<size>(y));
}

// y may be the memory of a or b. Floor: a and b are read once, y is written once.
template <class A, class B, class Y>
void add(context& ctx, const sequences& seq, matrix<A> a, matrix<B> b, matrix<Y> y) {
  ctx.note("add", elements_in(y), bytes_in(a) + bytes_in(b) + bytes_in(y));
  if (ctx.measuring()) return;
  map_numbers(ctx, rows_of(seq, a), rows_of(seq, b), rows_of(seq, y), plus{});
}

// y = factor x; may be the same memory. Floor: x is read once, y is written once.
template <class X, class Y>
void scale_rows(context& ctx, const sequences& seq, double factor, matrix<X> x, matrix<Y> y) {
  ctx.note("scale_rows", elements_in(y), bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  map_numbers(ctx, rows_of(seq, x), rows_of(seq, y), times{factor});
}

// Floor: x is read once, y is written once.
template <class X, class Y>
void copy(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y) {
  ctx.note("copy", 0, bytes_in(x) + bytes_in(y));
  if (ctx.measuring()) return;
  map_numbers(ctx, rows_of(seq, x), rows_of(seq, y), unchanged{});
}

}  // namespace motet::cuda
