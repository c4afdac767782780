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
  MOTET_HOST_DEVICE bool load(index, index, held<N>&) const {
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(index row, index column, held<N>&) const {
    const run<Y, N> nothing{};
    store_run(y.row(row) + column, nothing);
  }
};

struct unchanged {
  static constexpr bool keeps_type = true;
  template <class T>
  MOTET_HOST_DEVICE T operator()(T value) const {
    return value;
  }
};

}  // namespace detail

// Floor: y is written once.
template <class Y>
void zero(context& ctx, const sequences& seq, matrix<Y> y) {
  ctx.note("zero", 0, motet::detail::bytes_in(y));
  if (ctx.measuring()) return;
  y = detail::rows_of(seq, y);
  constexpr int size = run_size<Y>;
  detail::join_rows(y);
  for_each_run<size>(ctx, detail::cleared<Y>{y}, y.rows, y.width, in_runs<size>(y));
}

// y may be the memory of a or b. Floor: a and b are read once, y is written once.
template <class A, class B, class Y>
void add(context& ctx, const sequences& seq, matrix<A> a, matrix<B> b, matrix<Y> y) {
  ctx.note("add", motet::detail::elements_in(y),
           motet::detail::bytes_in(a) + motet::detail::bytes_in(b) + motet::detail::bytes_in(y));
  if (ctx.measuring()) return;
  map_numbers(ctx, detail::rows_of(seq, a), detail::rows_of(seq, b), detail::rows_of(seq, y), plus{});
}

// Floor: x is read once, y is written once.
template <class X, class Y>
void copy(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y) {
  ctx.note("copy", 0, motet::detail::bytes_in(x) + motet::detail::bytes_in(y));
  if (ctx.measuring()) return;
  map_numbers(ctx, detail::rows_of(seq, x), detail::rows_of(seq, y), detail::unchanged{});
}

}  // namespace motet::cuda
