// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/amounts.hpp>
#include <motet/backend/cuda/kernels/runs.hpp>
#include <motet/backend/cuda/kernels/sort.hpp>

// Rows of a gradient added to the rows of a table that their tokens name, always in the same order: the rows
// are sorted by token, so that those of one token are neighbours. A warp sums 32 neighbours. Tokens that
// begin and end there it adds to the table; of one that goes on beyond, a second kernel adds up the parts,
// however many there are (the token that ends each text may have thousands). How many tokens there are, only
// the GPU knows.

namespace motet::cuda {
namespace detail {

inline constexpr isize token_chunk = warp_size;

// Keys: rows of the table; `table_rows` for what it lacks, so that these come last.
struct token_keys {
  const std::int32_t* ids;
  isize first, table_rows, count;
  pairs to;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize i = self.number(); i < count; i += self.all()) {
      const isize at = ids[i] - first;
      to.keys[i] = static_cast<std::uint32_t>(at >= 0 && at < table_rows ? at : table_rows);
      to.values[i] = static_cast<std::uint32_t>(i);
    }
  }
};

// Parts of tokens that lie in several chunks: that which began before, and that which goes on.
enum token_part { began_before, goes_on, token_parts };

template <int N, class T, class Dy, class M>
struct sum_tokens {
  static constexpr int most_threads = 256, at_once = 4;
  pairs sorted;
  isize count, strips;
  matrix<const Dy> dy;
  matrix<M> dtable;
  T* parts;  // (chunks, token_parts, width)

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize chunks = (count + token_chunk - 1) / token_chunk;
    const auto none = static_cast<std::uint32_t>(dtable.rows);
    for (isize work = self.block() * self.warps() + self.warp(); work < chunks * strips;
         work += self.blocks() * self.warps()) {
      const isize chunk = work / strips, base = chunk * token_chunk, mine = base + self.lane();
      const isize column = (work % strips * warp_size + self.lane()) * N;
      const std::uint32_t key = mine < count ? sorted.keys[mine] : none,
                          row = mine < count ? sorted.values[mine] : 0;
      const std::uint32_t before = base > 0 ? sorted.keys[base - 1] : none,
                          after = base + token_chunk < count ? sorted.keys[base + token_chunk] : none;
      run<T, N> total{};
      bool began = self.shuffle(key, 0) != before;
      for (int p = 0; p < warp_size; p += at_once) {
        run<T, N> kept[at_once];
        std::uint32_t token[at_once];
        MOTET_UNROLLED
        for (int u = 0; u < at_once; ++u) {
          token[u] = self.shuffle(key, p + u);
          const std::uint32_t from = self.shuffle(row, p + u);
          if (token[u] != none && column < dy.width)
            kept[u] = load_run<T, N>(dy.row(static_cast<isize>(from)) + column);
        }
        MOTET_UNROLLED
        for (int u = 0; u < at_once; ++u) {
          const std::uint32_t other = self.shuffle(key, (p + u + 1) % warp_size),
                              next = p + u + 1 < warp_size ? other : after;
          if (token[u] == none || column >= dy.width) continue;
          MOTET_UNROLLED
          for (int i = 0; i < N; ++i) total.of[i] += kept[u].of[i];
          const bool ends = next != token[u];
          if (!ends && p + u + 1 < warp_size) continue;
          if (began && ends) {
            M* const to = dtable.row(static_cast<isize>(token[u])) + column;
            run<T, N> sum = load_run<T, N>(to);
            MOTET_UNROLLED
            for (int i = 0; i < N; ++i) sum.of[i] += total.of[i];
            store_run(to, sum);
          } else {
            store_run(parts + (chunk * token_parts + (began ? goes_on : began_before)) * dy.width + column,
                      total);
          }
          total = {};
          began = true;
        }
      }
    }
  }
};

// A block for the chunk where such a token begins.
template <int N, class T, class M>
struct sum_token_parts {
  static constexpr int most_threads = 256, at_once = 4;
  pairs sorted;
  isize count, strips, width;
  const T* parts;
  matrix<M> dtable;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    T* const shared = self.template shared<T>(self.threads() * N);  // (warps, N, lanes)
    const isize chunks = (count + token_chunk - 1) / token_chunk;
    for (isize work = self.block(); work < (chunks - 1) * strips; work += self.blocks()) {
      const isize chunk = work / strips, last = (chunk + 1) * token_chunk - 1;
      const std::uint32_t token = sorted.keys[last];
      if (token == static_cast<std::uint32_t>(dtable.rows) || sorted.keys[last + 1] != token) continue;
      if (chunk > 0 && sorted.keys[chunk * token_chunk - 1] == token) continue;  // it began before
      // The token ends at the first place with a larger key.
      isize low = last + 1, high = count;
      while (low < high) {
        const isize middle = (low + high) / 2;
        if (sorted.keys[middle] > token) high = middle;
        else low = middle + 1;
      }
      const isize pieces = (low - 1) / token_chunk - chunk + 1,
                  column = (work % strips * warp_size + self.lane()) * N;
      run<T, N> total{};
      if (column < width) {
        for (isize c = self.warp(); c < pieces; c += at_once * self.warps()) {
          run<T, N> kept[at_once];
          MOTET_UNROLLED
          for (int u = 0; u < at_once; ++u) {
            const isize at = c + u * self.warps();
            kept[u] =
                at < pieces
                    ? load_run<T, N>(
                          parts + ((chunk + at) * token_parts + (at == 0 ? goes_on : began_before)) * width +
                          column)
                    : run<T, N>{};
          }
          MOTET_UNROLLED
          for (int i = 0; i < N; ++i)
            total.of[i] += (kept[0].of[i] + kept[1].of[i]) + (kept[2].of[i] + kept[3].of[i]);
        }
      }
      self.barrier();
      MOTET_UNROLLED
      for (int i = 0; i < N; ++i) shared[(self.warp() * N + i) * warp_size + self.lane()] = total.of[i];
      self.barrier();
      for (int e = self.thread(); e < warp_size * N; e += self.threads()) {
        const isize at = work % strips * warp_size * N + e;
        if (at >= width) break;
        T sum = 0;
        for (int w = 0; w < self.warps(); ++w) sum += shared[(w * N + e % N) * warp_size + e / N];
        dtable.row(static_cast<isize>(token))[at] += static_cast<M>(sum);
      }
    }
  }
};

template <int N, class T, class Dy, class M>
void launch_token_sums(context& ctx, const pairs& sorted, matrix<const Dy> dy, matrix<M> dtable, T* parts) {
  const isize count = dy.rows, chunks = (count + token_chunk - 1) / token_chunk,
              strips = (dy.width + warp_size * N - 1) / (warp_size * N);
  launch(ctx.stream(), {blocks_for(chunks * strips, 8), 256, 0},
         sum_tokens<N, T, Dy, M>{sorted, count, strips, dy, dtable, parts});
  if (chunks == 1) return;
  launch(ctx.stream(), {blocks_for((chunks - 1) * strips, 1), 256, 256 * N * static_cast<isize>(sizeof(T))},
         sum_token_parts<N, T, M>{sorted, count, strips, dy.width, parts, dtable});
}

}  // namespace detail

// dtable row (ids[r] - first) += dy row r, where there is such a row. Floor: dy is read once, rows of the
// table that are named are read and written once.
template <class X, class M>
void add_by_token(context& ctx, const std::int32_t* ids, isize first, matrix<X> dy, matrix<M> dtable) {
  using slope = std::remove_const_t<X>;
  using number = arithmetic<X, M>;
  constexpr int size = run_size<slope, M>;
  const scratch_scope scope(ctx);
  const isize count = dy.rows, chunks = (count + detail::token_chunk - 1) / detail::token_chunk;
  const auto take = [&] {
    return pairs{ctx.scratch.take<std::uint32_t>(count), ctx.scratch.take<std::uint32_t>(count)};
  };
  const pairs plain = take(), other = take();
  number* const parts = ctx.scratch.take<number>(chunks * detail::token_parts * dy.width);
  int bits = 0;
  while ((isize{1} << bits) <= dtable.rows) ++bits;
  if (count > 0) {
    const double pairs = static_cast<double>(count),
                 edges = static_cast<double>((chunks - 1) * detail::token_parts * dy.width);
    ctx.note("token_keys", 0, 3 * 4 * pairs);
    ctx.note("sort_pairs", 0, 2 * 2 * 8 * pairs);  // a pass for each eight bits
    if (chunks > 1) ctx.note("sum_token_parts", 0, 2 * edges * bytes_of<number>);
  }
  if (!ctx.measuring() && count > 0)
    launch(ctx.stream(), {blocks_for(count, 256), 256, 0},
           detail::token_keys{ids, first, dtable.rows, count, plain});
  const pairs sorted = sort_pairs(ctx, plain, other, count, bits);
  if (ctx.measuring() || count == 0 || dy.width == 0) return;
  if (in_runs<size>(dy) && in_runs<size>(dtable))
    detail::launch_token_sums<size, number, slope>(ctx, sorted, dy, dtable, parts);
  else detail::launch_token_sums<1, number, slope>(ctx, sorted, dy, dtable, parts);
}

}  // namespace motet::cuda
