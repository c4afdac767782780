// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/each_run.hpp>
#include <motet/backend/cuda/kernels/group_sums.hpp>
#include <motet/backend/cuda/kernels/samples.hpp>

namespace motet::cuda {
namespace detail {

template <class T, class M, class X>
struct positioned {
  template <int N>
  struct held {
    run<T, N> x, table;
    isize row;
  };
  padded_rows rows;
  matrix<const M> table;
  matrix<X> x;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize number, isize column, held<N>& kept) const {
    const auto here = rows.at(number);
    if (here.row < 0) return false;
    kept = {load_run<T, N>(x.row(here.row) + column), load_run<T, N>(table.row(here.position) + column),
            here.row};
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize, isize column, held<N>& kept) const {
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) kept.x.of[i] += kept.table.of[i];
    store_run(x.row(kept.row) + column, kept.x);
  }
};

// The rows at one position of all samples.
struct rows_at_position {
  sequences seq;  // on the GPU
  MOTET_HOST_DEVICE isize count(isize) const { return seq.samples; }
  MOTET_HOST_DEVICE isize row(isize position, isize sample) const {
    return position < seq.rows_of(sample) ? seq.begin(sample) + position : -1;
  }
};

}  // namespace detail

// Adds to each row the table's row of its position within its sample. Floor: x is read and written once; the
// table stays in the cache.
template <class M, class X>
void position_forward(context& ctx, const sequences& seq, matrix<M> table, matrix<X> x) {
  ctx.note("position_forward", elements_in(x), 2 * bytes_in(x));
  if (ctx.measuring()) return;
  using master = std::remove_const_t<M>;
  constexpr int size = run_size<master, X>;
  for_each_run<size>(ctx, detail::positioned<arithmetic<M, X>, master, X>{padded(ctx, seq), table, x},
                     padded_count(seq), x.width, in_runs<size>(table) && in_runs<size>(x));
}

// Position by position the rows of all samples. Floor: dy is read once.
template <class Dy, class M>
void position_backward_weight(context& ctx, const sequences& seq, matrix<Dy> dy, matrix<M> dtable) {
  ctx.note("position_backward_weight", elements_in(dy), bytes_in(dy));
  using slope = std::remove_const_t<Dy>;
  constexpr int size = run_size<slope>;
  sum_groups<size>(ctx, plain_values<arithmetic<Dy, M>, slope>{dy},
                   detail::rows_at_position{ctx.measuring() ? sequences{} : samples_on_gpu(ctx, seq)},
                   add_sums<M>{dtable.data, nullptr, dtable.stride}, dy.width,
                   seq.samples == 0 ? 0 : longest_of(seq), seq.samples, in_runs<size>(dy));
}

}  // namespace motet::cuda
