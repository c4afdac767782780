// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/attention/attention_tile.hpp>

// Attention of bf16 on tensor cores: an online softmax over tiles of keys (Dao, "FlashAttention-2"),
// gradients with the probabilities recomputed. A warp has 16 or 32 rows of each product, so no sum leaves it,
// and what one product makes is the next one's operand as it lies in registers.
//
// Forward makes 4 width pairs FLOPs, and reads queries, keys and values once from memory: the tiles of one
// head of one sample are read again by each block of queries, but from the L2 cache. So all but the shortest
// samples are bound by the tensor cores; mma.sync reaches about 60 % of what wgmma does on Hopper. Backward
// forms scores and their gradients twice, 14 width pairs for the 10 that must be, which keeps it in a fixed
// order without atomics.

namespace motet::cuda::detail {

// One step of the online softmax for the row of a lane that is g or (half) g + 8 of a strip: the scores of
// the keys it sees become 2^(scale s - peak), the others zero. Returns what earlier sums must be multiplied
// by.
template <int Tiles, class Thread>
MOTET_HOST_DEVICE float soften(Thread& self, float (&s)[Tiles][4], int half, float scale, int seen,
                               float& peak, float& sum) {
  const int t = self.lane() % 4 * 2;
  float top = peak, part = 0;
  MOTET_UNROLLED
  for (int n = 0; n < Tiles; ++n) MOTET_UNROLLED
  for (int e = 0; e < 2; ++e) {
    float& x = s[n][2 * half + e];
    x = n * 8 + t + e < seen ? x * scale : minus_infinity<float>();
    top = top < x ? x : top;
  }
  top = larger{}(top, self.shuffle_xor(top, 1));
  top = larger{}(top, self.shuffle_xor(top, 2));
  const float base = top == minus_infinity<float>() ? 0.0f : top, fade = power_of_2(peak - base);
  peak = top;
  MOTET_UNROLLED
  for (int n = 0; n < Tiles; ++n) MOTET_UNROLLED
  for (int e = 0; e < 2; ++e) part += s[n][2 * half + e] = power_of_2(s[n][2 * half + e] - base);
  sum = sum * fade + part;
  return fade;
}

// Strips: of 16 queries for each warp, two where samples are long enough.
template <int Width, int Strips>
struct attention_forward_matrix {
  static constexpr int most_threads = 128;
  static constexpr int queries = 64 * Strips, keys = Width * Strips <= 160 ? 64 : 32, stages = 2;
  static constexpr isize shared_bytes =
      (queries + 2 * stages * keys) * bf16_row<Width> * static_cast<isize>(sizeof(bf16));

  attention_batch batch;
  matrix<const bf16> q, k, v;
  matrix<bf16> y;
  matrix<float> lse;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize block = batch.longest_first(self), head = block % batch.heads;
    const tile_position at = batch.q.find(block / batch.heads, queries);
    if (at.first >= at.rows) return;
    // Within a sample 32 bits will do, and registers are scarce.
    const int first = static_cast<int>(at.first), q_rows = static_cast<int>(at.rows),
              m = q_rows - first < queries ? q_rows - first : queries;
    const isize kv_begin = batch.kv.begin(at.sample), column = head * batch.width,
                kv_column = head / batch.group * batch.width;
    const int kv_rows = static_cast<int>(batch.kv.rows_of(at.sample)),
              reach = batch.reach<int>(first + m, q_rows, kv_rows);

    bf16* const q_tile = self.template shared<bf16>(queries * bf16_row<Width>);
    bf16* const k_tiles = self.template shared<bf16>(stages * keys * bf16_row<Width>);
    bf16* const v_tiles = self.template shared<bf16>(stages * keys * bf16_row<Width>);
    const auto bring_keys = [&](int j) {
      const int stage = j / keys % stages * keys * bf16_row<Width>;
      bring_tile<keys, Width>(self, k, kv_begin + j, kv_rows - j, kv_column, batch.width, batch.packed,
                              k_tiles + stage);
      bring_tile<keys, Width>(self, v, kv_begin + j, kv_rows - j, kv_column, batch.width, batch.packed,
                              v_tiles + stage);
    };
    bring_tile<queries, Width>(self, q, at.begin + first, m, column, batch.width, batch.packed, q_tile);
    if (reach > 0) bring_keys(0);
    close_copies(self);

    const int row = self.warp() * 16 * Strips, g = self.lane() / 4, t = self.lane() % 4 * 2;
    const float scale = batch.power.as<float>();
    float out[Strips][Width / 8][4] = {};
    float peak[Strips][2], sum[Strips][2] = {};
    MOTET_UNROLLED
    for (int i = 0; i < Strips; ++i) peak[i][0] = peak[i][1] = minus_infinity<float>();
    for (int j = 0; j < reach; j += keys) {
      if (j + keys < reach) bring_keys(j + keys);
      close_copies(self);
      await_copies<1>(self);
      self.barrier();
      const int stage = j / keys % stages * keys * bf16_row<Width>;
      if (row < m) {
        float s[Strips][keys / 8][4];
        multiply_heads<Width>(self, s, q_tile, row, k_tiles + stage);
        MOTET_UNROLLED
        for (int i = 0; i < Strips; ++i) {
          MOTET_UNROLLED
          for (int half = 0; half < 2; ++half) {
            const int seen =
                in_tile<keys>(batch.reach<int>(first + row + g + 1 + 16 * i + 8 * half, q_rows, kv_rows) - j);
            const float fade = soften<keys / 8>(self, s[i], half, scale, seen, peak[i][half], sum[i][half]);
            MOTET_UNROLLED
            for (int n = 0; n < Width / 8; ++n) {
              out[i][n][2 * half] *= fade;
              out[i][n][2 * half + 1] *= fade;
            }
          }
        }
        add_scored_rows<Width, Width>(self, out, s, v_tiles + stage, 0);
      }
      self.barrier();  // before these tiles are overwritten
    }
    await_copies<0>(self);

    MOTET_UNROLLED
    for (int i = 0; i < Strips; ++i) {
      float factor[2];
      MOTET_UNROLLED
      for (int half = 0; half < 2; ++half) {
        float all = sum[i][half];
        all += self.shuffle_xor(all, 1);
        all += self.shuffle_xor(all, 2);
        const bool blind = all == 0;
        factor[half] = blind ? 0.0f : 1 / all;
        const int r = row + 16 * i + g + 8 * half;
        if (t == 0 && r < m)
          lse.row(at.begin + first + r)[head] =
              blind ? 0.0f : (peak[i][half] + log_2(all)) * static_cast<float>(log_of_2);
      }
      const int of = row + 16 * i;
      write_rows<Width>(self, out[i], factor[0], factor[1], y, at.begin + first + of, m - of, column,
                        batch.width, batch.packed);
    }
  }
};

// dq of a tile of queries, and for all that follows delta, the sum of dy y of each row and head.
template <int Width>
struct attention_dq_matrix {
  static constexpr int most_threads = 128;
  static constexpr int queries = 64, keys = Width <= 64 ? 64 : 32, stages = 2;
  static constexpr isize shared_bytes =
      (2 * queries + 2 * stages * keys) * bf16_row<Width> * static_cast<isize>(sizeof(bf16)) + queries * 4;

  attention_batch batch;
  matrix<const bf16> q, k, v, y;
  matrix<const float> lse;
  matrix<const bf16> dy;
  matrix<bf16> dq;
  float* delta;  // (query rows, heads)

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize block = batch.longest_first(self), head = block % batch.heads;
    const tile_position at = batch.q.find(block / batch.heads, queries);
    if (at.first >= at.rows) return;
    const int in_sample = static_cast<int>(at.first), q_rows = static_cast<int>(at.rows),
              m = q_rows - in_sample < queries ? q_rows - in_sample : queries;
    const isize first = at.begin + at.first, kv_begin = batch.kv.begin(at.sample);
    const isize column = head * batch.width, kv_column = head / batch.group * batch.width;
    const int kv_rows = static_cast<int>(batch.kv.rows_of(at.sample)),
              reach = batch.reach<int>(in_sample + m, q_rows, kv_rows);

    bf16* const q_tile = self.template shared<bf16>(queries * bf16_row<Width>);
    bf16* const dy_tile = self.template shared<bf16>(queries * bf16_row<Width>);
    bf16* const k_tiles = self.template shared<bf16>(stages * keys * bf16_row<Width>);
    bf16* const v_tiles = self.template shared<bf16>(stages * keys * bf16_row<Width>);
    float* const deltas = self.template shared<float>(queries);
    const auto bring_keys = [&](int j) {
      const int stage = j / keys % stages * keys * bf16_row<Width>;
      bring_tile<keys, Width>(self, k, kv_begin + j, kv_rows - j, kv_column, batch.width, batch.packed,
                              k_tiles + stage);
      bring_tile<keys, Width>(self, v, kv_begin + j, kv_rows - j, kv_column, batch.width, batch.packed,
                              v_tiles + stage);
    };
    bring_tile<queries, Width>(self, q, first, m, column, batch.width, batch.packed, q_tile);
    bring_tile<queries, Width>(self, dy, first, m, column, batch.width, batch.packed, dy_tile);
    if (reach > 0) bring_keys(0);
    close_copies(self);

    // Half a warp for a row: neighbours read neighbours.
    for (int r = self.thread() / 16; r < queries; r += self.threads() / 16) {
      float part = 0;
      if (r < m)
        for (int c = self.thread() % 16; c < batch.width; c += 16)
          part += static_cast<float>(y.row(first + r)[column + c]) *
                  static_cast<float>(dy.row(first + r)[column + c]);
      MOTET_UNROLLED
      for (int mask = 8; mask > 0; mask /= 2) part += self.shuffle_xor(part, mask);
      if (self.thread() % 16 == 0) {
        deltas[r] = part;
        if (r < m) delta[(first + r) * batch.heads + head] = part;
      }
    }
    self.barrier();

    const int row = self.warp() * 16, g = self.lane() / 4, t = self.lane() % 4 * 2;
    const float scale = batch.power.as<float>();
    float log[2], own_delta[2];
    MOTET_UNROLLED
    for (int half = 0; half < 2; ++half) {
      const int r = row + g + 8 * half;
      own_delta[half] = deltas[r];
      log[half] = r < m ? lse.row(first + r)[head] * static_cast<float>(log2_of_e) : 0.0f;
    }
    float out[1][Width / 8][4] = {};
    for (int j = 0; j < reach; j += keys) {
      if (j + keys < reach) bring_keys(j + keys);
      close_copies(self);
      await_copies<1>(self);
      self.barrier();
      const int stage = j / keys % stages * keys * bf16_row<Width>;
      if (row < m) {
        float s[1][keys / 8][4], ds[1][keys / 8][4];
        multiply_heads<Width>(self, s, q_tile, row, k_tiles + stage);
        multiply_heads<Width>(self, ds, dy_tile, row, v_tiles + stage);
        MOTET_UNROLLED
        for (int half = 0; half < 2; ++half) {
          const int seen =
              in_tile<keys>(batch.reach<int>(in_sample + row + g + 8 * half + 1, q_rows, kv_rows) - j);
          MOTET_UNROLLED
          for (int n = 0; n < keys / 8; ++n) MOTET_UNROLLED
          for (int e = 0; e < 2; ++e) {
            const float p =
                n * 8 + t + e < seen ? power_of_2(s[0][n][2 * half + e] * scale - log[half]) : 0.0f;
            ds[0][n][2 * half + e] = p * (ds[0][n][2 * half + e] - own_delta[half]);
          }
        }
        add_scored_rows<Width, Width>(self, out, ds, k_tiles + stage, 0);
      }
      self.barrier();
    }
    await_copies<0>(self);
    const float factor = batch.scale.as<float>();
    write_rows<Width>(self, out[0], factor, factor, dq, first + row, m - row, column, batch.width,
                      batch.packed);
  }
};

// dk and dv of a tile of keys of one of their heads, over the queries of all heads that share it. Scores lie
// transposed: a warp has 16 keys. Wide heads are made in two parts, as the registers of both gradients at
// once would not do.
template <int Width>
struct attention_dkv_matrix {
  static constexpr int most_threads = 128;
  static constexpr int keys = 64, queries = Width <= 64 ? 64 : 32, stages = 2,
                       columns = Width <= 128 ? Width : Width / 2;
  static constexpr isize shared_bytes =
      (2 * keys + 2 * stages * queries) * bf16_row<Width> * static_cast<isize>(sizeof(bf16)) +
      2 * stages * queries * 4;

  attention_batch batch;
  matrix<const bf16> q, k, v;
  matrix<const float> lse;
  matrix<const bf16> dy;
  matrix<bf16> dk, dv;
  const float* delta;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    const isize kv_heads = batch.heads / batch.group, kv_head = self.block() % kv_heads;
    const tile_position at = batch.kv.find(self.block() / kv_heads, keys);
    if (at.first >= at.rows) return;
    const int in_sample = static_cast<int>(at.first), kv_rows = static_cast<int>(at.rows),
              m = kv_rows - in_sample < keys ? kv_rows - in_sample : keys;
    const isize first = at.begin + at.first, column = kv_head * batch.width,
                q_begin = batch.q.begin(at.sample);
    const int q_rows = static_cast<int>(batch.q.rows_of(at.sample)),
              first_query = batch.first_query<int>(in_sample, q_rows, kv_rows);
    const int tiles = q_rows > first_query ? (q_rows - first_query + queries - 1) / queries : 0;
    const int all = tiles * static_cast<int>(batch.group);

    bf16* const k_tile = self.template shared<bf16>(keys * bf16_row<Width>);
    bf16* const v_tile = self.template shared<bf16>(keys * bf16_row<Width>);
    bf16* const q_tiles = self.template shared<bf16>(stages * queries * bf16_row<Width>);
    bf16* const dy_tiles = self.template shared<bf16>(stages * queries * bf16_row<Width>);
    float* const logs = self.template shared<float>(stages * queries);
    float* const deltas = self.template shared<float>(stages * queries);
    // Tile after tile of one head, then of the next.
    const auto bring_queries = [&](int which) {
      const int stage = which % stages, i = first_query + which % tiles * queries,
                tile = stage * queries * bf16_row<Width>;
      const isize head = kv_head * batch.group + which / tiles, q_column = head * batch.width;
      bring_tile<queries, Width>(self, q, q_begin + i, q_rows - i, q_column, batch.width, batch.packed,
                                 q_tiles + tile);
      bring_tile<queries, Width>(self, dy, q_begin + i, q_rows - i, q_column, batch.width, batch.packed,
                                 dy_tiles + tile);
      for (int r = self.thread(); r < queries; r += self.threads()) {
        const bool wanted = i + r < q_rows;
        const isize from = wanted ? q_begin + i + r : q_begin;
        copy_in_background<4>(self, logs + stage * queries + r, lse.row(from) + head, wanted);
        copy_in_background<4>(self, deltas + stage * queries + r, delta + from * batch.heads + head, wanted);
      }
    };
    bring_tile<keys, Width>(self, k, first, m, column, batch.width, batch.packed, k_tile);
    bring_tile<keys, Width>(self, v, first, m, column, batch.width, batch.packed, v_tile);

    const int row = self.warp() * 16, g = self.lane() / 4, t = self.lane() % 4 * 2;
    const float scale = batch.power.as<float>();
    for (int part = 0; part < Width; part += columns) {
      if (all > 0) bring_queries(0);
      close_copies(self);
      float dk_out[1][columns / 8][4] = {}, dv_out[1][columns / 8][4] = {};
      for (int which = 0; which < all; ++which) {
        if (which + 1 < all) bring_queries(which + 1);
        close_copies(self);
        await_copies<1>(self);
        self.barrier();
        const int stage = which % stages, tile = stage * queries * bf16_row<Width>;
        const int i = first_query + which % tiles * queries;
        if (row < m) {
          float p[1][queries / 8][4], ds[1][queries / 8][4];
          multiply_heads<Width>(self, p, k_tile, row, q_tiles + tile);
          multiply_heads<Width>(self, ds, v_tile, row, dy_tiles + tile);
          MOTET_UNROLLED
          for (int half = 0; half < 2; ++half) {
            // Queries before this one do not see the lane's key.
            const int key = in_sample + row + g + 8 * half;
            const int from = key < kv_rows
                                 ? in_tile<queries>(batch.first_query<int>(key, q_rows, kv_rows) - i)
                                 : queries,
                      to = in_tile<queries>(q_rows - i);
            MOTET_UNROLLED
            for (int n = 0; n < queries / 8; ++n) MOTET_UNROLLED
            for (int e = 0; e < 2; ++e) {
              const int query = n * 8 + t + e;
              const bool seen = query >= from && query < to;
              const float log = logs[stage * queries + query] * static_cast<float>(log2_of_e);
              const float weight = seen ? power_of_2(p[0][n][2 * half + e] * scale - log) : 0.0f;
              p[0][n][2 * half + e] = weight;
              ds[0][n][2 * half + e] = weight * (ds[0][n][2 * half + e] - deltas[stage * queries + query]);
            }
          }
          add_scored_rows<Width, columns>(self, dv_out, p, dy_tiles + tile, part);
          add_scored_rows<Width, columns>(self, dk_out, ds, q_tiles + tile, part);
        }
        self.barrier();
      }
      await_copies<0>(self);
      self.barrier();  // the tile of keys has come to all, also where no query did
      const int width = batch.width - part;
      const float factor = batch.scale.as<float>();
      write_rows<columns>(self, dk_out[0], factor, factor, dk, first + row, m - row, column + part, width,
                          batch.packed);
      write_rows<columns>(self, dv_out[0], 1.0f, 1.0f, dv, first + row, m - row, column + part, width,
                          batch.packed);
    }
  }
};

}  // namespace motet::cuda::detail
