// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/sums.hpp>
#include <motet/tensor/pair_part.hpp>

#include <cmath>
#include <type_traits>

// Losses that compare every sample with every other take products of all pairs of rows, a tile for each
// block, in registers. The results of pairs are never stored for all of them at a time: they are made for a
// panel of pair_panel_rows rows, and two products take that into the gradients of the rows and of the
// columns. Every number has one owner and one order of additions.
//
// A tile is 64 x 64 and takes its operands 16 deep through shared memory, two rooms in turn, so that what
// comes next is on its way while this is used. Each of 128 threads has 8 x 4 sums: 32 multiply-adds for each
// three reads of 16 bytes, so arithmetic is the floor, 2 rows columns width of a product.

namespace motet::cuda::detail {

inline constexpr int pair_tile = 64, pair_depth = 16, pair_threads = 128;
inline constexpr int pair_rows_each = 8, pair_columns_each = 4;
inline constexpr isize pair_panel_rows = 1024;

template <class S>
inline constexpr S no_peak = S(-1e30f);
template <class S>
inline constexpr S log2_e = S(1.442695040888963407359924681001892137);

MOTET_HOST_DEVICE constexpr isize tiles_of(isize count) { return (count + pair_tile - 1) / pair_tile; }
constexpr isize least_of(isize x, isize y) { return x < y ? x : y; }

// Rows of equal width, one behind the other, or where a list says.
template <class S>
struct pair_rows {
  const S* data = nullptr;
  isize stride = 0;
  const S* const* list = nullptr;
  isize count = 0, width = 0;
  bool packs = false;

  MOTET_HOST_DEVICE const S* row(isize r) const { return list != nullptr ? list[r] : data + r * stride; }
  // A pack of row r that begins at column c; zeros where there is nothing.
  MOTET_HOST_DEVICE pack<S> at(isize r, isize c) const {
    pack<S> found{};
    if (r >= count || c >= width) return found;
    const S* const from = row(r) + c;
    if (packs) return load_pack(from);
    MOTET_UNROLLED
    for (int e = 0; e < pack<S>::size; ++e)
      if (c + e < width) found.of[e] = from[e];
    return found;
  }
  pair_rows slice(isize first, isize rows) const {
    return {data + (list != nullptr ? 0 : first * stride),
            stride,
            list != nullptr ? list + first : nullptr,
            rows,
            width,
            packs};
  }
};
template <class T, class S = std::remove_const_t<T>>
pair_rows<S> rows_in_order(const matrix<T>& x) {
  return {x.data, x.stride, nullptr,
          x.rows, x.width,  in_packs(static_cast<const S*>(x.data), x.width, x.stride)};
}

// Tile sums are taken of two operands, each of which lies in one of two ways: across, with its rows along the
// tile and its columns deep, or along, with its columns along the tile and its rows deep. This is what a
// thread carries of an operand to shared memory, where it lies along.
template <class S, bool Along>
struct pair_slab {
  static constexpr int size = pack<S>::size, packs = pair_tile * pair_depth / pair_threads / size;
  static constexpr int line = (Along ? pair_tile : pair_depth) / size;  // packs of a row
  // in shared memory; stores across then hit different banks
  static constexpr int stride = pair_tile + size;
  static constexpr int room = pair_depth * stride;
  pack<S> held[packs];

  MOTET_HOST_DEVICE void fetch(const pair_rows<S>& from, isize first, isize deep, int thread) {
    MOTET_UNROLLED
    for (int n = 0; n < packs; ++n) {
      const int p = thread + n * pair_threads, r = p / line, c = p % line * size;
      held[n] = Along ? from.at(deep + r, first + c) : from.at(first + r, deep + c);
    }
  }
  MOTET_HOST_DEVICE void put(S* to, int thread) const {
    MOTET_UNROLLED
    for (int n = 0; n < packs; ++n) {
      const int p = thread + n * pair_threads, r = p / line, c = p % line * size;
      if (Along) {
        *reinterpret_cast<pack<S>*>(to + r * stride + c) = held[n];
      } else {
        MOTET_UNROLLED
        for (int e = 0; e < size; ++e) to[(c + e) * stride + r] = held[n].of[e];
      }
    }
  }
};

// The sums of a thread have this position in the tile. A warp has a quarter of it: in each row lanes that
// differ in the lowest three bits, in each column the others.
struct pair_position {
  int row, column, row_half, column_half;
  template <class Thread>
  MOTET_HOST_DEVICE explicit pair_position(Thread& self)
      : row(self.warp() / 2 * 32 + self.lane() / 8 * pair_rows_each),
        column(self.warp() % 2 * 32 + self.lane() % 8 * pair_columns_each),
        row_half(self.warp() / 2),
        column_half(self.warp() % 2) {}
};

// Combines what lanes hold that differ in the bits from `first` to `end`; each of them gets it.
inline constexpr int pair_row_lanes = 8;
template <class Thread, class T, class Combine>
MOTET_HOST_DEVICE T over_lanes(Thread& self, T value, int first, int end, Combine combine) {
  MOTET_UNROLLED
  for (int mask = first; mask < end; mask *= 2) value = combine(value, self.shuffle_xor(value, mask));
  return value;
}

template <class S>
struct pair_sums {
  S of[pair_rows_each][pair_columns_each];
};
// Shared memory that a product takes.
template <class S>
inline constexpr isize pair_room =
    4 * static_cast<isize>(pair_slab<S, false>::room) * static_cast<isize>(sizeof(S));

template <bool AlongLeft, bool AlongRight, class S, class Thread>
MOTET_HOST_DEVICE pair_sums<S> pair_product(Thread& self, const pair_rows<S>& left, isize i,
                                            const pair_rows<S>& right, isize j, isize depth) {
  using left_slab = pair_slab<S, AlongLeft>;
  using right_slab = pair_slab<S, AlongRight>;
  constexpr int size = pack<S>::size, stride = left_slab::stride, room = left_slab::room;
  S* now = self.template shared<S>(4 * room);
  S* later = now + 2 * room;
  const int thread = self.thread();
  const pair_position at(self);
  pair_sums<S> sums{};
  left_slab a;
  right_slab b;
  a.fetch(left, i, 0, thread);
  b.fetch(right, j, 0, thread);
  a.put(now, thread);
  b.put(now + room, thread);
  self.barrier();
  for (isize k = 0; k < depth; k += pair_depth) {
    const bool more = k + pair_depth < depth;
    if (more) {
      a.fetch(left, i, k + pair_depth, thread);
      b.fetch(right, j, k + pair_depth, thread);
    }
    MOTET_UNROLLED
    for (int d = 0; d < pair_depth; ++d) {
      pack<S> x[pair_rows_each / size], y[pair_columns_each / size];
      MOTET_UNROLLED
      for (int n = 0; n < pair_rows_each / size; ++n) x[n] = load_pack(now + d * stride + at.row + n * size);
      MOTET_UNROLLED
      for (int n = 0; n < pair_columns_each / size; ++n)
        y[n] = load_pack(now + room + d * stride + at.column + n * size);
      MOTET_UNROLLED
      for (int r = 0; r < pair_rows_each; ++r) {
        MOTET_UNROLLED
        for (int c = 0; c < pair_columns_each; ++c)
          sums.of[r][c] += x[r / size].of[r % size] * y[c / size].of[c % size];
      }
    }
    if (more) {
      a.put(later, thread);
      b.put(later + room, thread);
    }
    self.barrier();
    S* const other = now;
    now = later;
    later = other;
  }
  return sums;
}

// Some rows against all columns, and where a block's tile lies. Tiles that lie side by side in the order of
// blocks share their columns.
template <class S>
struct pair_block {
  pair_rows<S> rows, columns;
  isize first_row = 0, first_column = 0;  // their numbers among all
  const isize* matches = nullptr;         // of each of these rows the number of its column; none: its own

  MOTET_HOST_DEVICE isize row_tiles() const { return tiles_of(rows.count); }
  isize blocks() const { return row_tiles() * tiles_of(columns.count); }
  MOTET_HOST_DEVICE isize tile_row(isize block) const { return block % row_tiles(); }
  MOTET_HOST_DEVICE isize tile_column(isize block) const { return block / row_tiles(); }
  MOTET_HOST_DEVICE isize match(isize row) const {
    return (matches != nullptr ? matches[row] : first_row + row) - first_column;
  }
  pair_block panel(isize begin) const {
    const isize count = least_of(pair_panel_rows, rows.count - begin);
    return {rows.slice(begin, count), columns, first_row + begin, first_column,
            matches != nullptr ? matches + begin : nullptr};
  }
};

// Gradients by the products of a panel of rows with all columns, padded with zeros to whole tiles.
template <class S>
struct pair_panel {
  S* data = nullptr;
  isize stride = 0;
  pair_panel() = default;
  pair_panel(context& ctx, isize rows, isize columns) : stride(tiles_of(columns) * pair_tile) {
    data = ctx.scratch.template take<S>(least_of(pair_panel_rows, tiles_of(rows) * pair_tile) * stride);
  }
  // A thread's four columns of row r of a tile.
  MOTET_HOST_DEVICE void store(isize row, isize column, const S* from) const {
    constexpr int size = pack<S>::size;
    MOTET_UNROLLED
    for (int n = 0; n < pair_columns_each / size; ++n) {
      pack<S> some;
      MOTET_UNROLLED
      for (int e = 0; e < size; ++e) some.of[e] = from[n * size + e];
      store_pack(data + row * stride + column + n * size, some);
    }
  }
  pair_rows<S> rows(isize count) const { return {data, stride, nullptr, count, stride, true}; }
};

// to += a product, in tiles of which those with the same rows follow each other.
template <class S, bool AlongLeft>
struct add_pair_product {
  static constexpr int most_threads = pair_threads;
  pair_rows<S> left, right;
  isize depth;
  S* to;
  isize rows, width, stride;
  bool packs;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    constexpr int size = pack<S>::size;
    const isize across = tiles_of(width);
    const isize i = self.block() / across * pair_tile, j = self.block() % across * pair_tile;
    const pair_sums<S> sums = pair_product<AlongLeft, true>(self, left, i, right, j, depth);
    const pair_position at(self);
    const isize column = j + at.column;
    MOTET_UNROLLED
    for (int r = 0; r < pair_rows_each; ++r) {
      if (i + at.row + r >= rows) continue;
      S* const to_row = to + (i + at.row + r) * stride + column;
      if (packs) {
        MOTET_UNROLLED
        for (int n = 0; n < pair_columns_each / size; ++n) {
          if (column + n * size >= width) continue;
          pack<S> some = load_pack(to_row + n * size);
          MOTET_UNROLLED
          for (int e = 0; e < size; ++e) some.of[e] += sums.of[r][n * size + e];
          store_pack(to_row + n * size, some);
        }
      } else {
        MOTET_UNROLLED
        for (int c = 0; c < pair_columns_each; ++c)
          if (column + c < width) to_row[c] += sums.of[r][c];
      }
    }
  }
};

template <bool AlongLeft, class S>
void add_product(context& ctx, const pair_rows<S>& left, const pair_rows<S>& right, isize depth,
                 matrix<S> to) {
  launch(ctx.stream(), {tiles_of(to.rows) * tiles_of(to.width), pair_threads, pair_room<S>},
         add_pair_product<S, AlongLeft>{left, right, depth, to.data, to.rows, to.width, to.stride,
                                        in_packs(to.data, to.width, to.stride)});
}

// A panel adds to the gradients of its rows and of all columns, each of which may be none.
template <class S>
void add_slopes(context& ctx, const pair_panel<S>& panel, const pair_block<S>& some, matrix<S> d_rows,
                matrix<S> d_columns) {
  if (d_rows) add_product<false>(ctx, panel.rows(some.rows.count), some.columns, some.columns.count, d_rows);
  if (d_columns) add_product<true>(ctx, panel.rows(some.rows.count), some.rows, some.rows.count, d_columns);
}

// Writes where each row of some pieces is.
template <class S>
struct list_pair_rows {
  static constexpr int most = 32;
  struct piece {
    const S* data;
    isize first, stride;
  };
  piece pieces[most];
  isize count, end;
  const S** list;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize r = pieces[0].first + self.number(); r < end; r += self.all()) {
      isize p = 0;
      while (p + 1 < count && pieces[p + 1].first <= r) ++p;
      list[r] = pieces[p].data + (r - pieces[p].first) * pieces[p].stride;
    }
  }
};

// The rows and columns of a part. Columns in several pieces are listed: 8 bytes for each.
template <class S>
pair_block<S> block_of(context& ctx, const pair_part<S>& of) {
  const S** const list = ctx.scratch.template take<const S*>(of.samples);
  pair_block<S> out;
  if (ctx.measuring() || of.rows.rows == 0) return out;
  out.rows = rows_in_order(of.rows);
  out.first_column = of.first;
  if (of.matches != nullptr) out.matches = ctx.on->copied(of.matches, of.rows.rows);
  out.columns = {nullptr, 0, list, of.count(), of.rows.width, true};
  list_pair_rows<S> some{};
  some.list = list;
  for (std::size_t p = 0; p < of.columns.size(); ++p) {
    const matrix<const S>& each = of.columns[p];
    if (each.rows > 0) {
      some.pieces[some.count++] = {each.data, some.end, each.stride};
      some.end += each.rows;
      out.columns.packs = out.columns.packs && in_packs(each.data, each.width, each.stride);
    }
    if (some.count == 0 || (some.count < some.most && p + 1 < of.columns.size())) continue;
    launch(ctx.stream(), {blocks_for(some.end - some.pieces[0].first, 256), 256, 0}, some);
    some.count = 0;
  }
  return out;
}

}  // namespace motet::cuda::detail
