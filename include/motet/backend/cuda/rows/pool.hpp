// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/each_run.hpp>
#include <motet/backend/cuda/kernels/group_sums.hpp>
#include <motet/backend/cuda/kernels/samples.hpp>
#include <motet/nn/core/operations.hpp>

namespace motet::cuda {
namespace detail {

// The row of a sample that is picked, or -1.
struct picked_row {
  sequences seq;  // on the GPU
  bool last;
  MOTET_HOST_DEVICE isize of(isize sample) const {
    if (seq.rows_of(sample) == 0) return -1;
    return last ? seq.end(sample) - 1 : seq.begin(sample);
  }
};

template <class T, class X, class Y>
struct picked {
  template <int N>
  using held = run<T, N>;
  picked_row from;
  matrix<const X> x;
  matrix<Y> y;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize sample, isize column, held<N>& kept) const {
    const isize row = from.of(sample);
    kept = row < 0 ? held<N>{} : load_run<T, N>(x.row(row) + column);
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize sample, isize column, held<N>& kept) const {
    store_run(y.row(sample) + column, kept);
  }
};

template <class T, class Dy, class Dx>
struct picked_slope {
  template <int N>
  struct held {
    run<T, N> dy, dx;
  };
  picked_row to;
  matrix<const Dy> dy;
  matrix<Dx> dx;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize sample, isize column, held<N>& kept) const {
    const isize row = to.of(sample);
    if (row < 0) return false;
    kept = {load_run<T, N>(dy.row(sample) + column), load_run<T, N>(dx.row(row) + column)};
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize sample, isize column, held<N>& kept) const {
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) kept.dx.of[i] += kept.dy.of[i];
    store_run(dx.row(to.of(sample)) + column, kept.dx);
  }
};

struct rows_of_sample {
  sequences seq;  // on the GPU
  MOTET_HOST_DEVICE isize count(isize sample) const { return seq.rows_of(sample); }
  MOTET_HOST_DEVICE isize row(isize sample, isize item) const { return seq.begin(sample) + item; }
};
template <class Y>
struct put_means {
  matrix<Y> y;
  template <class T>
  MOTET_HOST_DEVICE void operator()(isize sample, isize column, int, T sum, isize count) const {
    y.row(sample)[column] = stored_as<Y>(count == 0 ? T(0) : sum / static_cast<T>(count));
  }
};

template <class Y>
struct put_sums {
  matrix<Y> y;
  double factor;
  template <class T>
  MOTET_HOST_DEVICE void operator()(isize sample, isize column, int, T sum, isize) const {
    y.row(sample)[column] = stored_as<Y>(sum * static_cast<T>(factor));
  }
};

// Each row of a sample gets as much of its slope as it gave to a mean, or this factor.
template <class T, class Dy, class Dx>
struct spread_slope {
  template <int N>
  struct held {
    run<T, N> dy;
    isize row;
  };
  padded_rows rows;
  matrix<const Dy> dy;
  matrix<Dx> dx;
  bool mean;
  T factor;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize number, isize column, held<N>& kept) const {
    const auto here = rows.at(number);
    if (here.row < 0) return false;
    kept = {load_run<T, N>(dy.row(here.sample) + column), here.row};
    const T share = mean ? 1 / static_cast<T>(rows.seq.rows_of(here.sample)) : factor;
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) kept.dy.of[i] *= share;
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize, isize column, held<N>& kept) const {
    store_run(dx.row(kept.row) + column, kept.dy);
  }
};

}  // namespace detail

// One row for each sample: its first or last; zeros for a sample without rows. Floor: one row of each sample
// is read, one written.
template <class X, class Y>
void pick_forward(context& ctx, const sequences& seq, pick which, matrix<X> x, matrix<Y> y) {
  ctx.note("pick_forward", 0, 2 * bytes_in(y));
  if (ctx.measuring()) return;
  using element = std::remove_const_t<X>;
  constexpr int size = run_size<element, Y>;
  for_each_run<size>(
      ctx,
      detail::picked<arithmetic<X, Y>, element, Y>{{samples_on_gpu(ctx, seq), which == pick::last}, x, y},
      seq.samples, y.width, in_runs<size>(x) && in_runs<size>(y));
}

// Adds, as the rows that were not picked have their own gradient or were set to zero before. Floor: two rows
// of each sample are read, one is written.
template <class Dy, class Dx>
void pick_backward(context& ctx, const sequences& seq, pick which, matrix<Dy> dy, matrix<Dx> dx) {
  ctx.note("pick_backward", elements_in(dy), 3 * bytes_in(dy));
  if (ctx.measuring()) return;
  using slope = std::remove_const_t<Dy>;
  constexpr int size = run_size<slope, Dx>;
  for_each_run<size>(ctx,
                     detail::picked_slope<arithmetic<Dy, Dx>, slope, Dx>{
                         {samples_on_gpu(ctx, seq), which == pick::last}, dy, dx},
                     seq.samples, dy.width, in_runs<size>(dy) && in_runs<size>(dx));
}

namespace detail {

template <class X, class Y, class To>
void sum_samples(context& ctx, const sequences& seq, matrix<X> x, matrix<Y>, const To& to) {
  using element = std::remove_const_t<X>;
  constexpr int size = run_size<element>;
  sum_groups<size>(ctx, plain_values<arithmetic<X, Y>, element>{x},
                   rows_of_sample{ctx.measuring() ? sequences{} : samples_on_gpu(ctx, seq)}, to, x.width,
                   seq.samples, longest_of(seq), in_runs<size>(x));
}
// Overwrites every row of dx.
template <class Dy, class Dx>
void spread_samples(context& ctx, const sequences& seq, matrix<Dy> dy, matrix<Dx> dx, bool mean,
                    double factor) {
  if (ctx.measuring()) return;
  using slope = std::remove_const_t<Dy>;
  using number = arithmetic<Dy, Dx>;
  constexpr int size = run_size<slope, Dx>;
  for_each_run<size>(
      ctx, spread_slope<number, slope, Dx>{padded(ctx, seq), dy, dx, mean, static_cast<number>(factor)},
      padded_count(seq), dx.width, in_runs<size>(dy) && in_runs<size>(dx));
}

}  // namespace detail

// Floor: x is read once, y is written once.
template <class X, class Y>
void mean_forward(context& ctx, const sequences& seq, matrix<X> x, matrix<Y> y) {
  ctx.note("mean_forward", elements_in(x), bytes_in(x) + bytes_in(y));
  detail::sum_samples(ctx, seq, x, y, detail::put_means<Y>{y});
}
template <class X, class Y>
void sum_forward(context& ctx, const sequences& seq, double factor, matrix<X> x, matrix<Y> y) {
  ctx.note("sum_forward", elements_in(x), bytes_in(x) + bytes_in(y));
  detail::sum_samples(ctx, seq, x, y, detail::put_sums<Y>{y, factor});
}

// Floor: dx is written once, dy is small.
template <class Dy, class Dx>
void mean_backward(context& ctx, const sequences& seq, matrix<Dy> dy, matrix<Dx> dx) {
  ctx.note("mean_backward", elements_in(dx), bytes_in(dy) + bytes_in(dx));
  detail::spread_samples(ctx, seq, dy, dx, true, 1);
}
template <class Dy, class Dx>
void sum_backward(context& ctx, const sequences& seq, double factor, matrix<Dy> dy, matrix<Dx> dx) {
  ctx.note("sum_backward", elements_in(dx), bytes_in(dy) + bytes_in(dx));
  detail::spread_samples(ctx, seq, dy, dx, false, factor);
}

}  // namespace motet::cuda
