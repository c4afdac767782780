// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/each_run.hpp>
#include <motet/backend/cuda/kernels/samples.hpp>
#include <motet/backend/cuda/rows/position.hpp>
#include <motet/nn/core/operations.hpp>

#include <cmath>

namespace motet::cuda {
namespace detail {

template <class T>
struct make_sine_table {
  T* table;  // (positions, sin | cos)
  isize across, quarter;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize at = self.number(); at < across * quarter; at += self.all()) {
      const isize position = at / quarter, i = at % quarter;
      const double angle = static_cast<double>(position) *
                           std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(quarter));
      table[position * 2 * quarter + i] = static_cast<T>(std::sin(angle));
      table[position * 2 * quarter + quarter + i] = static_cast<T>(std::cos(angle));
    }
  }
};

// (positions, sines | cosines) of places in time.
template <class T>
struct make_time_table {
  T* table;
  isize positions, half;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize at = self.number(); at < positions * half; at += self.all()) {
      const isize position = at / half, i = at % half;
      const auto angle = static_cast<double>(static_cast<float>(position) * time_speed(i, half));
      table[position * 2 * half + i] = static_cast<T>(std::sin(angle));
      table[position * 2 * half + half + i] = static_cast<T>(std::cos(angle));
    }
  }
};

template <class T, class X>
struct sine_positioned {
  template <int N>
  struct held {
    run<T, N> x, table;
    isize row;
  };
  padded_rows rows;
  divisor across;
  const T* table;
  isize half;  // the width of x
  matrix<X> x;
  template <int N>
  MOTET_HOST_DEVICE bool load(isize number, isize column, held<N>& kept) const {
    const auto here = rows.at(number);
    if (here.row < 0) return false;
    auto right = static_cast<std::uint32_t>(here.position - rows.skipped);
    const isize down = across.divide(right);
    const T* const from = column < half ? table + down * half + column
                                        : table + static_cast<isize>(right) * half + (column - half);
    kept = {load_run<T, N>(x.row(here.row) + column), load_run<T, N>(from), here.row};
    return true;
  }
  template <int N>
  MOTET_HOST_DEVICE void store(isize, isize column, held<N>& kept) const {
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) kept.x.of[i] += kept.table.of[i];
    store_run(x.row(kept.row) + column, kept.x);
  }
};

}  // namespace detail

// Adds fixed 2-D positions to the patches of each sample: the first half of the columns from the patch's row,
// the second from its column; each half is [sin | cos] of position / 10000^(i / (width / 4)), as in MAE (He
// et al., CVPR'22). Rows before the patches stay as they are.
// Floor: x is read and written once; the table stays in the cache.
template <class X>
void sine_position_forward(context& ctx, const sequences& seq, const patch_geometry& geometry, matrix<X> x) {
  ctx.note("sine_position_forward", elements_in(x), 2 * bytes_in(x));
  using sum = arithmetic<X>;
  constexpr int size = run_size<X>;
  const isize across = geometry.side / geometry.patch, quarter = x.width / 4;
  const scratch_scope scope(ctx);
  sum* const table = ctx.scratch.take<sum>(across * 2 * quarter);
  if (ctx.measuring()) return;
  launch(ctx.stream(), {blocks_for(across * quarter, 128), 128, 0},
         detail::make_sine_table<sum>{table, across, quarter});
  for_each_run<size>(ctx,
                     detail::sine_positioned<sum, X>{padded(ctx, seq, geometry.lead), divisor(across), table,
                                                     2 * quarter, x},
                     padded_count(seq, geometry.lead), 4 * quarter,
                     in_runs<size>(x) && 2 * quarter % size == 0);
}

// Adds fixed positions in time: the first half of the columns sines, the second cosines, of position /
// 10000^(i / (width / 2 - 1)), as Whisper has them (Radford et al., ICML'23).
// Floor: x is read and written once; the table stays in the cache.
template <class X>
void time_position_forward(context& ctx, const sequences& seq, matrix<X> x) {
  ctx.note("time_position_forward", elements_in(x), 2 * bytes_in(x));
  using sum = arithmetic<X>;
  const isize half = x.width / 2, positions = longest_of(seq);
  const scratch_scope scope(ctx);
  sum* const table = ctx.scratch.take<sum>(positions * 2 * half);
  if (ctx.measuring() || positions == 0) return;
  launch(ctx.stream(), {blocks_for(positions * half, 128), 128, 0},
         detail::make_time_table<sum>{table, positions, half});
  position_forward(ctx, seq, matrix<const sum>{table, positions, 2 * half, 2 * half}, x);
}

}  // namespace motet::cuda
