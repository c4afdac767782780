// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/attention/attention_tile.hpp>

// Attention of float and double, with fused multiply-adds: the kernels of attention_matrix_kernel.hpp once
// more, a block of 16 x 16 threads where each thread has every sixteenth row and column of a product. Bound
// by the multiply-adds, and by shared memory where tiles are small: with 4 x 4 numbers to a thread, 8 reads
// serve 16 multiply-adds.

namespace motet::cuda::detail {

// The largest tile of rows with which so many tiles of heads, and of scores, leave room for another block.
template <class T>
constexpr int plain_tile(int columns, int heads, int scores) {
  for (int tile = 64; tile > 16; tile /= 2)
    if ((heads * tile * (columns + 1) + scores * tile * (tile + 1)) * static_cast<int>(sizeof(T)) <=
        120 * 1024)
      return tile;
  return 16;
}
template <class T>
constexpr isize plain_bytes(int tile, int columns, int heads, int scores) {
  const isize size = static_cast<isize>(sizeof(T));
  return heads * round_up(tile * (columns + 1) * size, 16) + scores * round_up(tile * (tile + 1) * size, 16);
}

template <int Tile, int Columns, class T, class Thread>
MOTET_HOST_DEVICE void bring_plain(Thread& self, const matrix<const T>& from, isize first_row, isize count,
                                   isize first_column, int width, T* to) {
  constexpr int together = Tile * Columns / 256 < 8 ? Tile * Columns / 256 : 8;  // loads in flight
  for (int i = self.thread(); i < Tile * Columns; i += 256 * together) MOTET_UNROLLED
  for (int j = 0; j < together; ++j) {
    const int r = (i + 256 * j) / Columns, c = (i + 256 * j) % Columns;
    to[r * (Columns + 1) + c] = r < count && c < width ? from.row(first_row + r)[first_column + c] : T(0);
  }
}
// s[a][b] = row y + 16 a of left times row x + 16 b of right.
template <int Columns, int Each, class T, class Thread>
MOTET_HOST_DEVICE void multiply_plain(Thread& self, T (&s)[Each][Each], const T* left, const T* right,
                                      int width) {
  const int y = self.thread() / 16, x = self.thread() % 16;
  MOTET_UNROLLED
  for (int a = 0; a < Each; ++a) MOTET_UNROLLED
  for (int b = 0; b < Each; ++b) s[a][b] = 0;
  for (int k = 0; k < width; ++k) {
    T l[Each], r[Each];
    MOTET_UNROLLED
    for (int a = 0; a < Each; ++a) {
      l[a] = left[(y + 16 * a) * (Columns + 1) + k];
      r[a] = right[(x + 16 * a) * (Columns + 1) + k];
    }
    MOTET_UNROLLED
    for (int a = 0; a < Each; ++a) MOTET_UNROLLED
    for (int b = 0; b < Each; ++b) s[a][b] += l[a] * r[b];
  }
}
// out[a][b] += row (or, Across, column) y + 16 a of a tile of scores times column x + 16 b of right, which
// has so many rows. Sequences are often shorter than a tile, and end within one.
template <int Columns, bool Across, int Each, class T, class Thread>
MOTET_HOST_DEVICE void add_plain(Thread& self, T (&out)[Each][Columns / 16], const T* scores, const T* right,
                                 int rows) {
  constexpr int tile = Each * 16;
  const int y = self.thread() / 16, x = self.thread() % 16;
  for (int i = 0; i < rows; ++i) {
    T l[Each];
    MOTET_UNROLLED
    for (int a = 0; a < Each; ++a)
      l[a] = Across ? scores[i * (tile + 1) + y + 16 * a] : scores[(y + 16 * a) * (tile + 1) + i];
    MOTET_UNROLLED
    for (int b = 0; b < Columns / 16; ++b) {
      const T r = right[i * (Columns + 1) + x + 16 * b];
      MOTET_UNROLLED
      for (int a = 0; a < Each; ++a) out[a][b] += l[a] * r;
    }
  }
}
template <int Columns, int Each, class T, class Thread>
MOTET_HOST_DEVICE void write_plain(Thread& self, const T (&out)[Each][Columns / 16], const T (&factor)[Each],
                                   const matrix<T>& to, isize first_row, isize count, isize first_column,
                                   int width) {
  const int y = self.thread() / 16, x = self.thread() % 16;
  MOTET_UNROLLED
  for (int a = 0; a < Each; ++a) MOTET_UNROLLED
  for (int b = 0; b < Columns / 16; ++b)
    if (y + 16 * a < count && x + 16 * b < width)
      to.row(first_row + y + 16 * a)[first_column + x + 16 * b] = out[a][b] * factor[a];
}

template <class T, int Columns>
struct attention_forward_plain {
  static constexpr int most_threads = 256, tile = plain_tile<T>(Columns, 3, 1), each = tile / 16,
                       queries = tile;
  static constexpr isize shared_bytes = plain_bytes<T>(tile, Columns, 3, 1);

  attention_batch batch;
  matrix<const T> q, k, v;
  matrix<T> y, lse;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize block = batch.longest_first(self), head = block % batch.heads;
    const tile_position at = batch.q.find(block / batch.heads, tile);
    if (at.first >= at.rows) return;
    const isize m = at.rows - at.first < tile ? at.rows - at.first : tile, first = at.begin + at.first;
    const isize kv_begin = batch.kv.begin(at.sample), kv_rows = batch.kv.rows_of(at.sample);
    const isize reach = batch.reach(at.first + m, at.rows, kv_rows), column = head * batch.width,
                kv_column = head / batch.group * batch.width;
    T* const q_tile = self.template shared<T>(tile * (Columns + 1));
    T* const k_tile = self.template shared<T>(tile * (Columns + 1));
    T* const v_tile = self.template shared<T>(tile * (Columns + 1));
    T* const scores = self.template shared<T>(tile * (tile + 1));
    bring_plain<tile, Columns>(self, q, first, m, column, batch.width, q_tile);

    const int row = self.thread() / 16, x = self.thread() % 16;
    const T scale = batch.power.as<T>();
    T out[each][Columns / 16] = {}, peak[each], sum[each] = {};
    MOTET_UNROLLED
    for (int a = 0; a < each; ++a) peak[a] = minus_infinity<T>();
    for (isize j = 0; j < reach; j += tile) {
      self.barrier();  // the tiles are read no longer
      bring_plain<tile, Columns>(self, k, kv_begin + j, kv_rows - j, kv_column, batch.width, k_tile);
      bring_plain<tile, Columns>(self, v, kv_begin + j, kv_rows - j, kv_column, batch.width, v_tile);
      self.barrier();
      T s[each][each];
      multiply_plain<Columns>(self, s, q_tile, k_tile, batch.width);
      const int keys = in_tile<tile>(kv_rows - j);
      MOTET_UNROLLED
      for (int a = 0; a < each; ++a) {
        if (16 * a >= m) break;
        const int seen = in_tile<tile>(batch.reach(at.first + row + 16 * a + 1, at.rows, kv_rows) - j);
        T top = peak[a], part = 0;
        MOTET_UNROLLED
        for (int b = 0; b < each; ++b) {
          s[a][b] = x + 16 * b < seen ? s[a][b] * scale : minus_infinity<T>();
          top = larger{}(top, s[a][b]);
        }
        MOTET_UNROLLED
        for (int mask = 8; mask > 0; mask /= 2) top = larger{}(top, self.shuffle_xor(top, mask));
        const T base = top == minus_infinity<T>() ? T(0) : top, fade = power_of_2(peak[a] - base);
        peak[a] = top;
        MOTET_UNROLLED
        for (int b = 0; b < each; ++b) {
          if (16 * b >= keys) break;
          part += scores[(row + 16 * a) * (tile + 1) + x + 16 * b] = power_of_2(s[a][b] - base);
        }
        sum[a] = sum[a] * fade + part;
        MOTET_UNROLLED
        for (int b = 0; b < Columns / 16; ++b) out[a][b] *= fade;
      }
      self.barrier();
      add_plain<Columns, false>(self, out, scores, v_tile, keys);
    }
    T factor[each];
    MOTET_UNROLLED
    for (int a = 0; a < each; ++a) {
      if (16 * a >= m) break;
      MOTET_UNROLLED
      for (int mask = 8; mask > 0; mask /= 2) sum[a] += self.shuffle_xor(sum[a], mask);
      const bool blind = sum[a] == 0;
      factor[a] = blind ? T(0) : 1 / sum[a];
      if (x == 0 && row + 16 * a < m)
        lse.row(first + row + 16 * a)[head] =
            blind ? T(0) : (peak[a] + log_2(sum[a])) * static_cast<T>(log_of_2);
    }
    write_plain<Columns>(self, out, factor, y, first, m, column, batch.width);
  }
};

template <class T, int Columns>
struct attention_dq_plain {
  static constexpr int most_threads = 256, tile = plain_tile<T>(Columns, 4, 2), each = tile / 16,
                       queries = tile;
  static constexpr isize shared_bytes =
      plain_bytes<T>(tile, Columns, 4, 1) + tile * static_cast<isize>(sizeof(T));

  attention_batch batch;
  matrix<const T> q, k, v, y, lse, dy;
  matrix<T> dq;
  T* delta;  // (query rows, heads)

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize block = batch.longest_first(self), head = block % batch.heads;
    const tile_position at = batch.q.find(block / batch.heads, tile);
    if (at.first >= at.rows) return;
    const isize m = at.rows - at.first < tile ? at.rows - at.first : tile, first = at.begin + at.first;
    const isize kv_begin = batch.kv.begin(at.sample), kv_rows = batch.kv.rows_of(at.sample);
    const isize reach = batch.reach(at.first + m, at.rows, kv_rows), column = head * batch.width,
                kv_column = head / batch.group * batch.width;
    T* const q_tile = self.template shared<T>(tile * (Columns + 1));
    T* const dy_tile = self.template shared<T>(tile * (Columns + 1));
    T* const k_tile = self.template shared<T>(tile * (Columns + 1));
    T* const v_tile = self.template shared<T>(tile * (Columns + 1));
    T* const scores = self.template shared<T>(tile * (tile + 1));
    T* const deltas = self.template shared<T>(tile);
    bring_plain<tile, Columns>(self, q, first, m, column, batch.width, q_tile);
    bring_plain<tile, Columns>(self, dy, first, m, column, batch.width, dy_tile);
    self.barrier();

    const int row = self.thread() / 16, x = self.thread() % 16;
    T log[each], factor[each];
    MOTET_UNROLLED
    for (int a = 0; a < each; ++a) {
      if (16 * a >= m) break;
      const int r = row + 16 * a;
      T part = 0;
      if (r < m)
        for (int c = x; c < batch.width; c += 16)
          part += y.row(first + r)[column + c] * dy_tile[r * (Columns + 1) + c];
      MOTET_UNROLLED
      for (int mask = 8; mask > 0; mask /= 2) part += self.shuffle_xor(part, mask);
      if (x == 0) {
        deltas[r] = part;
        if (r < m) delta[(first + r) * batch.heads + head] = part;
      }
      log[a] = r < m ? lse.row(first + r)[head] * static_cast<T>(log2_of_e) : T(0);
      factor[a] = batch.scale.as<T>();
    }
    const T scale = batch.power.as<T>();
    T out[each][Columns / 16] = {};
    for (isize j = 0; j < reach; j += tile) {
      self.barrier();
      bring_plain<tile, Columns>(self, k, kv_begin + j, kv_rows - j, kv_column, batch.width, k_tile);
      bring_plain<tile, Columns>(self, v, kv_begin + j, kv_rows - j, kv_column, batch.width, v_tile);
      self.barrier();
      T s[each][each], ds[each][each];
      multiply_plain<Columns>(self, s, q_tile, k_tile, batch.width);
      multiply_plain<Columns>(self, ds, dy_tile, v_tile, batch.width);
      const int keys = in_tile<tile>(kv_rows - j);
      MOTET_UNROLLED
      for (int a = 0; a < each; ++a) {
        if (16 * a >= m) break;
        const int seen = in_tile<tile>(batch.reach(at.first + row + 16 * a + 1, at.rows, kv_rows) - j);
        MOTET_UNROLLED
        for (int b = 0; b < each; ++b) {
          if (16 * b >= keys) break;
          const T p = x + 16 * b < seen ? power_of_2(s[a][b] * scale - log[a]) : T(0);
          scores[(row + 16 * a) * (tile + 1) + x + 16 * b] = p * (ds[a][b] - deltas[row + 16 * a]);
        }
      }
      self.barrier();
      add_plain<Columns, false>(self, out, scores, k_tile, keys);
    }
    write_plain<Columns>(self, out, factor, dq, first, m, column, batch.width);
  }
};

template <class T, int Columns>
struct attention_dkv_plain {
  static constexpr int most_threads = 256, tile = plain_tile<T>(Columns, 4, 2), each = tile / 16, keys = tile;
  static constexpr isize shared_bytes = plain_bytes<T>(tile, Columns, 4, 2);

  attention_batch batch;
  matrix<const T> q, k, v, lse, dy;
  matrix<T> dk, dv;
  const T* delta;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize kv_heads = batch.heads / batch.group, kv_head = self.block() % kv_heads;
    const tile_position at = batch.kv.find(self.block() / kv_heads, tile);
    if (at.first >= at.rows) return;
    const isize m = at.rows - at.first < tile ? at.rows - at.first : tile, first = at.begin + at.first,
                column = kv_head * batch.width;
    const isize q_begin = batch.q.begin(at.sample), q_rows = batch.q.rows_of(at.sample);
    T* const k_tile = self.template shared<T>(tile * (Columns + 1));
    T* const v_tile = self.template shared<T>(tile * (Columns + 1));
    T* const q_tile = self.template shared<T>(tile * (Columns + 1));
    T* const dy_tile = self.template shared<T>(tile * (Columns + 1));
    T* const p = self.template shared<T>(tile * (tile + 1));
    T* const scores = self.template shared<T>(tile * (tile + 1));
    bring_plain<tile, Columns>(self, k, first, m, column, batch.width, k_tile);
    bring_plain<tile, Columns>(self, v, first, m, column, batch.width, v_tile);

    const int row = self.thread() / 16, x = self.thread() % 16;
    const T scale = batch.power.as<T>();
    T dk_out[each][Columns / 16] = {}, dv_out[each][Columns / 16] = {};
    for (isize head = kv_head * batch.group; head < (kv_head + 1) * batch.group; ++head)
      for (isize i = batch.first_query(at.first, q_rows, at.rows); i < q_rows; i += tile) {
        self.barrier();
        bring_plain<tile, Columns>(self, q, q_begin + i, q_rows - i, head * batch.width, batch.width, q_tile);
        bring_plain<tile, Columns>(self, dy, q_begin + i, q_rows - i, head * batch.width, batch.width,
                                   dy_tile);
        self.barrier();
        T s[each][each], ds[each][each];
        multiply_plain<Columns>(self, s, q_tile, k_tile, batch.width);
        multiply_plain<Columns>(self, ds, dy_tile, v_tile, batch.width);
        const int queries = in_tile<tile>(q_rows - i);
        MOTET_UNROLLED
        for (int a = 0; a < each; ++a) {
          if (16 * a >= queries) break;
          const isize query = i + row + 16 * a;
          const int seen =
              query < q_rows ? in_tile<tile>(batch.reach(query + 1, q_rows, at.rows) - at.first) : 0;
          const T log = query < q_rows ? lse.row(q_begin + query)[head] * static_cast<T>(log2_of_e) : T(0);
          const T own_delta = query < q_rows ? delta[(q_begin + query) * batch.heads + head] : T(0);
          MOTET_UNROLLED
          for (int b = 0; b < each; ++b) {
            if (16 * b >= m) break;
            const int to = (row + 16 * a) * (tile + 1) + x + 16 * b;
            p[to] = x + 16 * b < seen ? power_of_2(s[a][b] * scale - log) : T(0);
            scores[to] = p[to] * (ds[a][b] - own_delta);
          }
        }
        self.barrier();
        add_plain<Columns, true>(self, dv_out, p, dy_tile, queries);
        add_plain<Columns, true>(self, dk_out, scores, q_tile, queries);
      }
    self.barrier();
    T by_scale[each], by_one[each];
    MOTET_UNROLLED
    for (int a = 0; a < each; ++a) {
      by_scale[a] = batch.scale.as<T>();
      by_one[a] = 1;
    }
    write_plain<Columns>(self, dk_out, by_scale, dk, first, m, column, batch.width);
    write_plain<Columns>(self, dv_out, by_one, dv, first, m, column, batch.width);
  }
};

}  // namespace motet::cuda::detail
