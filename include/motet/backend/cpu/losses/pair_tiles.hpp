// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/kernels/products/tile_kernels.hpp>
#include <motet/tensor/pair_part.hpp>

// Walks over all pairs of rows of two matrices, or of some rows and all columns, in tiles, for losses that
// compare every sample with every other. The matrix of all pairs is never stored: a tile of dot products is
// made, turned into gradients of the dot products, multiplied into the gradients of the rows, and forgotten.

namespace motet::cpu::detail {

// Sum over the team of one number of each thread; every thread gets the same.
inline double sum_over_team(context& ctx, double value) {
  if (ctx.crew == nullptr || ctx.threads == 1) return value;
  ctx.crew->slot(ctx.thread) = value;
  ctx.crew->barrier();
  double sum = 0;
  for (int t = 0; t < ctx.threads; ++t) sum += ctx.crew->slot(t);
  ctx.crew->barrier();  // nobody writes a slot that another still reads
  return sum;
}

// A tile of all pairs: rows [row, row + rows) of a against rows [column, column + columns) of b.
template <class S>
struct pair_tile {
  isize row = 0, rows = 0;
  isize column = 0, columns = 0;
  S* values = nullptr;  // columns padded
  isize stride = 0;
  // of each row of a the row of b that belongs to it; none: the one with its number
  const isize* matches = nullptr;
  // The column of row i's match. It may lie outside the tile.
  isize diagonal(isize i) const { return (matches != nullptr ? matches[row + i] : row + i) - column; }
  bool has_diagonal(isize i) const { return diagonal(i) >= 0 && diagonal(i) < columns; }
};

inline constexpr isize pair_tile_rows = 48, pair_tile_columns = 64;

template <class S>
class pair_walk {
 public:
  static constexpr isize tile_rows = pair_tile_rows, tile_columns = pair_tile_columns;

  pair_walk(context& ctx, matrix<const S> a, matrix<const S> b)
      : ctx_(ctx), a_(a), b_(b), padded_(round_up(a.width, tile_lanes<S>)) {
    rows_ = ctx.scratch.template take<S>(tile_rows * padded_);         // (tile rows, padded)
    columns_ = ctx.scratch.template take<S>(tile_columns * padded_);   // (tile columns, padded)
    across_ = ctx.scratch.template take<S>(a.width * tile_columns);    // (width, tile columns)
    drows_ = ctx.scratch.template take<S>(tile_rows * padded_);        // (tile rows, padded)
    dcolumns_ = ctx.scratch.template take<S>(tile_columns * padded_);  // (tile columns, padded)
    values_ = ctx.scratch.template take<S>(tile_rows * tile_columns);  // (tile rows, tile columns)
  }

  // The rows of a, and of anything with one row a sample, that this thread owns.
  interval own() const { return sequences{a_.rows}.part(ctx_.thread, ctx_.threads); }

  // Calls on_tile(tile) with the dot products of each tile. What it leaves there is the gradient of the loss
  // by these dot products, and is multiplied into da and db unless they are none. In each round the threads
  // hold disjoint blocks of columns, so whatever on_tile adds up for its rows and for its columns needs no
  // lock and no copy for each thread; a barrier ends each round.
  template <class OnTile>
  void run(matrix<S> da, matrix<S> db, OnTile&& on_tile) {
    const interval mine = own();
    for (int round = 0; round < ctx_.threads; ++round) {
      const interval theirs = sequences{b_.rows}.part((ctx_.thread + round) % ctx_.threads, ctx_.threads);
      for (isize j = theirs.begin; j < theirs.end; j += tile_columns)
        run_columns(mine, j, least(tile_columns, theirs.end - j), da, db, on_tile);
      synchronize(ctx_);
    }
  }

 private:
  static constexpr isize least(isize x, isize y) { return x < y ? x : y; }

  template <class OnTile>
  void run_columns(interval mine, isize j, isize n, matrix<S> da, matrix<S> db, OnTile&& on_tile) {
    const isize width = a_.width;
    tiles::pack(n, width, b_.row(j), b_.stride, columns_, padded_);
    tiles::pack_transposed(n, width, b_.row(j), b_.stride, across_, tile_columns);
    for (isize i = mine.begin; i < mine.end; i += tile_rows) {
      const isize m = least(tile_rows, mine.end - i);
      tiles::pack(m, width, a_.row(i), a_.stride, rows_, padded_);
      tiles::multiply(m, round_up(n, tile_lanes<S>), width, rows_, padded_, 1, across_, tile_columns, values_,
                      tile_columns, false);
      on_tile(pair_tile<S>{i, m, j, n, values_, tile_columns});
      if (da) {
        tiles::multiply(m, padded_, n, values_, tile_columns, 1, columns_, padded_, drows_, padded_, false);
        tiles::unpack_add(m, width, drows_, padded_, da.row(i), da.stride);
      }
      if (db)
        tiles::multiply(n, padded_, m, values_, 1, tile_columns, rows_, padded_, dcolumns_, padded_,
                        i > mine.begin);
    }
    if (db && mine.size() > 0) tiles::unpack_add(n, width, dcolumns_, padded_, db.row(j), db.stride);
  }

  context& ctx_;
  matrix<const S> a_, b_;
  isize padded_;
  S *rows_, *columns_, *across_, *drows_, *dcolumns_, *values_;
};

// The rows of one rank against all columns, or some. Only the rows have gradients here, so threads share
// nothing: each has its rows and walks over the columns.
template <class S>
class part_walk {
 public:
  static constexpr isize tile_rows = pair_tile_rows, tile_columns = pair_tile_columns;

  part_walk(context& ctx, const pair_part<S>& of)
      : of_(of), own_(sequences{of.rows.rows}.part(ctx.thread, ctx.threads)) {
    padded_ = round_up(of.rows.width, tile_lanes<S>);
    rows_ = ctx.scratch.template take<S>(tile_rows * padded_);             // (tile rows, padded)
    columns_ = ctx.scratch.template take<S>(tile_columns * padded_);       // (tile columns, padded)
    across_ = ctx.scratch.template take<S>(of.rows.width * tile_columns);  // (width, tile columns)
    drows_ = ctx.scratch.template take<S>(tile_rows * padded_);            // (tile rows, padded)
    values_ = ctx.scratch.template take<S>(tile_rows * tile_columns);      // (tile rows, tile columns)
  }

  // The rows that this thread owns.
  interval own() const { return own_; }

  // Calls on_tile(tile) with the dot products of each tile; what it leaves there is multiplied into d_rows,
  // unless that is none.
  template <class OnTile>
  void run(matrix<S> d_rows, OnTile&& on_tile) {
    const isize width = of_.rows.width, count = of_.count();
    std::size_t piece = 0;
    isize inside = 0;  // of the next column in its piece
    for (isize j = 0; j < count && own_.size() > 0; j += tile_columns) {
      const isize n = least(tile_columns, count - j);
      for (isize packed = 0; packed < n;) {
        const matrix<const S>& from = of_.columns[piece];
        const isize some = least(n - packed, from.rows - inside);
        tiles::pack(some, width, from.row(inside), from.stride, columns_ + packed * padded_, padded_);
        packed += some;
        inside += some;
        if (inside == from.rows) {
          ++piece;
          inside = 0;
        }
      }
      tiles::pack_transposed(n, width, columns_, padded_, across_, tile_columns);
      for (isize i = own_.begin; i < own_.end; i += tile_rows) {
        const isize m = least(tile_rows, own_.end - i);
        tiles::pack(m, width, of_.rows.row(i), of_.rows.stride, rows_, padded_);
        tiles::multiply(m, round_up(n, tile_lanes<S>), width, rows_, padded_, 1, across_, tile_columns,
                        values_, tile_columns, false);
        on_tile(pair_tile<S>{i, m, of_.first + j, n, values_, tile_columns, of_.matches});
        if (!d_rows) continue;
        tiles::multiply(m, padded_, n, values_, tile_columns, 1, columns_, padded_, drows_, padded_, false);
        tiles::unpack_add(m, width, drows_, padded_, d_rows.row(i), d_rows.stride);
      }
    }
  }

 private:
  static constexpr isize least(isize x, isize y) { return x < y ? x : y; }

  const pair_part<S>& of_;
  interval own_;
  isize padded_;
  S *rows_, *columns_, *across_, *drows_, *values_;
};

}  // namespace motet::cpu::detail
