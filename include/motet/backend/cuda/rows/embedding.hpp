// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/each_run.hpp>
#include <motet/backend/cuda/kernels/group_sums.hpp>
#include <motet/backend/cuda/kernels/samples.hpp>
#include <motet/backend/cuda/kernels/token_sums.hpp>

namespace motet::cuda {
namespace detail {

template <class T, class M, class Y>
struct looked_up {
  template <int N>
  using held = run<T, N>;
  const std::int32_t* ids;
  isize first;
  matrix<const M> table;
  matrix<Y> y;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize row, isize column, held<N>& kept) const {
    const isize at = ids[row] - first;
    kept = at >= 0 && at < table.rows ? load_run<T, N>(table.row(at) + column) : held<N>{};
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize row, isize column, held<N>& kept) const {
    store_run(y.row(row) + column, kept);
  }
};

template <class T, class X, class Y>
struct added_at {
  template <int N>
  struct held {
    run<T, N> x, y;
    isize row;
  };
  const std::int32_t* places;
  matrix<const X> x;
  matrix<Y> y;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize row, isize column, held<N>& kept) const {
    const isize at = places[row];
    if (at < 0) return false;
    kept = {load_run<T, N>(x.row(row) + column), load_run<T, N>(y.row(at) + column), at};
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize, isize column, held<N>& kept) const {
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) kept.y.of[i] += kept.x.of[i];
    store_run(y.row(kept.row) + column, kept.y);
  }
};

template <class T, class M, class X>
struct class_token_put {
  template <int N>
  struct held {
    run<T, N> token;
    isize row;
  };
  sequences seq;  // on the GPU
  const M* token;
  matrix<X> x;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize sample, isize column, held<N>& kept) const {
    if (seq.rows_of(sample) == 0) return false;
    kept = {load_run<T, N>(token + column), seq.begin(sample)};
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize, isize column, held<N>& kept) const {
    store_run(x.row(kept.row) + column, kept.token);
  }
};

// The first row of each sample.
struct first_rows {
  sequences seq;  // on the GPU
  MOTET_HOST_DEVICE isize count(isize) const { return seq.samples; }
  MOTET_HOST_DEVICE isize row(isize, isize sample) const {
    return seq.rows_of(sample) > 0 ? seq.begin(sample) : -1;
  }
};
// All others.
struct later_rows {
  padded_rows rows;
  isize numbers;
  MOTET_HOST_DEVICE isize count(isize) const { return numbers; }
  MOTET_HOST_DEVICE isize row(isize, isize number) const { return rows.at(number).row; }
};

}  // namespace detail

// Row r of y = row ids[r] of a table that begins with row number `first` of a larger one; ids of rows that it
// lacks give zeros. Floor: rows of the table are read (once, while they stay in the cache), y is written
// once.
template <class M, class Y>
void token_forward(context& ctx, const sequences& seq, const std::int32_t* ids, isize first, matrix<M> table,
                   matrix<Y> y) {
  ctx.note("token_forward", 0, 2 * bytes_in(y));
  if (ctx.measuring()) return;
  using master = std::remove_const_t<M>;
  constexpr int size = run_size<master, Y>;
  for_each_run<size>(ctx, detail::looked_up<arithmetic<M, Y>, master, Y>{ids, first, table, y}, seq.rows(),
                     y.width, in_runs<size>(table) && in_runs<size>(y));
}
// Sums of equal tokens' rows, see token_sums.hpp. Ids of rows that the table lacks are left out.
template <class Dy, class M>
void token_backward_weight(context& ctx, const std::int32_t* ids, isize first, matrix<Dy> dy,
                           matrix<M> dtable) {
  ctx.note("token_backward_weight", elements_in(dy), bytes_in(dy) + 2 * elements_in(dy) * bytes_of<M>);
  add_by_token(ctx, ids, first, dy, dtable);
}
// y row places[r] += x row r, where that is not negative; no two rows have one place. Floor: x is read once,
// its places are read and written once.
template <class X, class Y>
void add_rows_at(context& ctx, const sequences& seq, const std::int32_t* places, matrix<X> x, matrix<Y> y) {
  ctx.note("add_rows_at", elements_in(x), bytes_in(x) + 2 * elements_in(x) * bytes_of<Y>);
  if (ctx.measuring()) return;
  using element = std::remove_const_t<X>;
  constexpr int size = run_size<element, Y>;
  for_each_run<size>(ctx, detail::added_at<arithmetic<X, Y>, element, Y>{places, x, y}, seq.rows(), x.width,
                     in_runs<size>(x) && in_runs<size>(y));
}

// The first row of each sample = token. Floor: one row of each sample is written.
template <class M, class X>
void class_token_forward(context& ctx, const sequences& seq, const M* token, matrix<X> x) {
  ctx.note("class_token_forward", 0, static_cast<double>(seq.samples * x.width) * bytes_of<X>);
  if (ctx.measuring()) return;
  constexpr int size = run_size<M, X>;
  for_each_run<size>(ctx, detail::class_token_put<arithmetic<M, X>, M, X>{samples_on_gpu(ctx, seq), token, x},
                     seq.samples, x.width, in_runs<size>(token, x.width) && in_runs<size>(x));
}

// Floor: one row of each sample is read.
template <class Dy, class M>
void class_token_backward_weight(context& ctx, const sequences& seq, matrix<Dy> dy, M* dtoken) {
  ctx.note("class_token_backward_weight", static_cast<double>(seq.samples * dy.width),
           static_cast<double>(seq.samples * dy.width) * bytes_of<Dy>);
  using slope = std::remove_const_t<Dy>;
  constexpr int size = run_size<slope>;
  const detail::first_rows rows{ctx.measuring() ? sequences{} : samples_on_gpu(ctx, seq)};
  sum_groups<size>(ctx, plain_values<arithmetic<Dy, M>, slope>{dy}, rows, add_sums<M>{dtoken, nullptr, 0},
                   dy.width, seq.samples == 0 ? 0 : 1, seq.samples, in_runs<size>(dy));
}

// dbias += all rows but the first of each sample: a class token replaces what the bias was added to. Floor:
// these rows are read once.
template <class Dy, class M>
void class_token_backward_bias(context& ctx, const sequences& seq, matrix<Dy> dy, M* dbias) {
  ctx.note("class_token_backward_bias", elements_in(dy), bytes_in(dy));
  using slope = std::remove_const_t<Dy>;
  constexpr int size = run_size<slope>;
  const bool dry = ctx.measuring();
  const isize count = padded_count(seq, 1);
  detail::later_rows rows{};
  if (!dry) rows = {padded(ctx, seq, 1), count};
  sum_groups<size>(ctx, plain_values<arithmetic<Dy, M>, slope>{dy}, rows, add_sums<M>{dbias, nullptr, 0},
                   dy.width, count == 0 ? 0 : 1, count, in_runs<size>(dy));
}

}  // namespace motet::cuda
