// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cuda/device/context.hpp>
#include <motet/backend/cuda/kernels/runs.hpp>

#include <algorithm>

// Sums over groups of rows, column by column, in an order that depends on the shapes alone. In two stages:
// blocks sum chunks of the rows, 32 runs wide; a second kernel sums what they found. Every input byte is read
// once, and what lies between the stages is small beside it.

namespace motet::cuda {

// Rows come in groups, each of which has its own sums. One group of all rows:
struct one_group {
  isize rows;
  MOTET_HOST_DEVICE isize count(isize) const { return rows; }
  MOTET_HOST_DEVICE isize row(isize, isize item) const { return item; }  // or -1 where there is none
};
// The same of a matrix, whose rows are all there.
struct every_row : one_group {
  static constexpr bool has_all = true;
};

// Each element gives one number or several to sum. Loading is apart from adding, so that loads of several
// rows are under way together.
template <class T, class X>
struct plain_values {
  using number = T;
  static constexpr int sums = 1;
  template <int N>
  using held = run<T, N>;
  matrix<const X> x;
  template <int N>
  MOTET_HOST_DEVICE held<N> load(isize row, isize column) const {
    return load_run<T, N>(x.row(row) + column);
  }
  template <int N>
  MOTET_HOST_DEVICE void add(const held<N>& kept, T (&to)[1][N]) const {
    MOTET_UNROLLED
    for (int i = 0; i < N; ++i) to[0][i] += kept.of[i];
  }
};

// Sums are added to one row for each group, the second of two to another place, if there is one.
template <class M>
struct add_sums {
  M *first, *second;
  isize stride;
  template <class T>
  MOTET_HOST_DEVICE void operator()(isize group, isize column, int which, T value, isize) const {
    M* const to = which == 0 ? first : second;
    if (to != nullptr) to[group * stride + column] += static_cast<M>(value);
  }
};

namespace detail {

template <int N, class Values, class Rows, class To>
struct sum_chunks {
  using number = typename Values::number;
  static constexpr int most_threads = 256, at_once = 4, sums = Values::sums;
  Values values;
  Rows rows;
  To to;
  number* pieces;  // (groups, chunks, sums, width)
  isize width, strips, chunks, groups;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    number* const shared = self.template shared<number>(self.threads() * N);  // (warps, N, lanes)
    for (isize work = self.block(); work < groups * chunks * strips; work += self.blocks()) {
      const isize strip = work % strips, chunk = work / strips % chunks, group = work / strips / chunks;
      const isize column = (strip * warp_size + self.lane()) * N;
      const isize count = rows.count(group), each = (count + chunks - 1) / chunks;
      const isize end = (chunk + 1) * each < count ? (chunk + 1) * each : count;
      number total[sums][N] = {};
      if (column < width) {
        for (isize i = chunk * each + self.warp(); i < end; i += at_once * self.warps()) {
          typename Values::template held<N> kept[at_once];
          // Where no row may be missing, none is asked for: on an H200 that takes two thirds of the time.
          if constexpr (requires { Rows::has_all; }) {
            if (i + (at_once - 1) * self.warps() < end) {
              MOTET_UNROLLED
              for (int u = 0; u < at_once; ++u)
                kept[u] = values.template load<N>(rows.row(group, i + u * self.warps()), column);
              MOTET_UNROLLED
              for (int u = 0; u < at_once; ++u) values.add(kept[u], total);
              continue;
            }
          }
          bool has[at_once];
          MOTET_UNROLLED
          for (int u = 0; u < at_once; ++u) {
            const isize item = i + u * self.warps(), row = item < end ? rows.row(group, item) : -1;
            has[u] = row >= 0;
            if (has[u]) kept[u] = values.template load<N>(row, column);
          }
          MOTET_UNROLLED
          for (int u = 0; u < at_once; ++u)
            if (has[u]) values.add(kept[u], total);
        }
      }
      MOTET_UNROLLED
      for (int s = 0; s < sums; ++s) {
        self.barrier();
        MOTET_UNROLLED
        for (int j = 0; j < N; ++j) shared[(self.warp() * N + j) * warp_size + self.lane()] = total[s][j];
        self.barrier();
        for (int e = self.thread(); e < warp_size * N; e += self.threads()) {
          const isize at = strip * warp_size * N + e;
          if (at >= width) break;
          number sum = 0;
          for (int w = 0; w < self.warps(); ++w) sum += shared[(w * N + e % N) * warp_size + e / N];
          if (chunks == 1) to(group, at, s, sum, count);
          else pieces[((group * chunks + chunk) * sums + s) * width + at] = sum;
        }
      }
    }
  }
};

template <class T, class Rows, class To>
struct sum_of_chunks {
  static constexpr int most_threads = 512, at_once = 4;
  Rows rows;
  To to;
  const T* pieces;  // (groups, chunks, sums, width)
  isize width, chunks, groups;
  int sums;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    T* const shared = self.template shared<T>(self.threads());
    const isize strips = (width + warp_size - 1) / warp_size;
    for (isize work = self.block(); work < groups * sums * strips; work += self.blocks()) {
      const isize column = work % strips * warp_size + self.lane(), which = work / strips % sums,
                  group = work / strips / sums;
      T total = 0;
      if (column < width) {
        const T* const from = pieces + (group * chunks * sums + which) * width + column;
        for (isize c = self.warp(); c < chunks; c += at_once * self.warps()) {
          T found[at_once];
          MOTET_UNROLLED
          for (int u = 0; u < at_once; ++u)
            found[u] = c + u * self.warps() < chunks ? from[(c + u * self.warps()) * sums * width] : T(0);
          total += (found[0] + found[1]) + (found[2] + found[3]);
        }
      }
      self.barrier();
      shared[self.thread()] = total;
      self.barrier();
      if (self.warp() > 0 || column >= width) continue;
      total = 0;
      for (int w = 0; w < self.warps(); ++w) total += shared[w * warp_size + self.lane()];
      to(group, column, static_cast<int>(which), total, rows.count(group));
    }
  }
};

// Some waves of blocks on the largest GPU. It is a fixed number, so that sums are the same on every share of
// every GPU.
inline constexpr isize summing_blocks = 132 * 8;
inline constexpr isize rows_of_chunk = 64;
// The rows of each group are cut into so many chunks.
inline isize chunks_of_sums(isize strips, isize groups, isize longest) {
  const isize by_blocks = summing_blocks / (groups * strips),
              by_rows = (longest + rows_of_chunk - 1) / rows_of_chunk;
  return std::max<isize>(1, std::min(by_blocks, by_rows));
}

}  // namespace detail

// The sums of chunks are added in the order of the chunks.
template <class T, class Rows, class To>
void add_chunks(context& ctx, const T* pieces, const Rows& rows, const To& to, isize width, isize chunks,
                isize groups, int sums) {
  const isize strips = (width + warp_size - 1) / warp_size;
  launch(ctx.stream(), {blocks_for(groups * sums * strips, 1), 512, 512 * static_cast<isize>(sizeof(T))},
         detail::sum_of_chunks<T, Rows, To>{rows, to, pieces, width, chunks, groups, sums});
}

namespace detail {

template <int N, class Values, class Rows, class To>
void launch_sums(context& ctx, const Values& values, const Rows& rows, const To& to,
                 typename Values::number* pieces, isize width, isize groups, isize longest) {
  using number = typename Values::number;
  const isize strips = (width + warp_size * N - 1) / (warp_size * N);
  const isize chunks = chunks_of_sums(strips, groups, longest);
  launch(ctx.stream(),
         {blocks_for(groups * chunks * strips, 1), 256, 256 * N * static_cast<isize>(sizeof(number))},
         sum_chunks<N, Values, Rows, To>{values, rows, to, pieces, width, strips, chunks, groups});
  if (chunks > 1) add_chunks<number>(ctx, pieces, rows, to, width, chunks, groups, Values::sums);
}

}  // namespace detail

// The sums of `groups` groups of at most `longest` rows; `packed`: all that is read may be moved in runs of
// Size. Takes scratch. The caller notes what the chunks read; what lies between the stages is noted here.
template <int Size, class Values, class Rows, class To>
void sum_groups(context& ctx, const Values& values, const Rows& rows, const To& to, isize width, isize groups,
                isize longest, bool packed) {
  const scratch_scope scope(ctx);
  // As much for every shape: shapes may differ from those of the dry run.
  using number = typename Values::number;
  auto* const pieces = ctx.scratch.take<number>(detail::summing_blocks * Values::sums * warp_size * Size);
  const isize across = warp_size * (packed ? Size : 1), strips = (width + across - 1) / across;
  const isize chunks = width == 0 || groups == 0 ? 0 : detail::chunks_of_sums(strips, groups, longest);
  // A chunk's sums are written by one kernel and read by the other.
  if (chunks > 1)
    ctx.note("sum_of_chunks", 0,
             2 * static_cast<double>(groups * chunks * Values::sums * width) * bytes_of<number>);
  if (ctx.measuring() || width == 0 || groups == 0) return;
  if (packed) detail::launch_sums<Size>(ctx, values, rows, to, pieces, width, groups, longest);
  else detail::launch_sums<1>(ctx, values, rows, to, pieces, width, groups, longest);
}

// to[j] += the sum of x[r][j] over all rows.
template <class X, class M>
void sum_columns(context& ctx, matrix<X> x, M* to) {
  using element = std::remove_const_t<X>;
  constexpr int size = run_size<element>;
  sum_groups<size>(ctx, plain_values<arithmetic<X, M>, element>{x}, every_row{{x.rows}},
                   add_sums<M>{to, nullptr, 0}, x.width, x.rows == 0 ? 0 : 1, x.rows, in_runs<size>(x));
}

}  // namespace motet::cuda
