// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/context.hpp>
#include <motet/backend/cuda/kernels/warp_matrix.hpp>
#include <motet/nn/core/operations.hpp>
#include <motet/tensor/sequences.hpp>
#include <motet/tensor/view.hpp>

#include <cmath>
#include <type_traits>

// Attention is cut into the work of blocks, which hold tiles in shared memory.

namespace motet::cuda::detail {

// A block has a tile of consecutive rows of one sample and one head.
struct tile_position {
  isize sample = 0;
  isize first = 0;  // row within the sample; past its end where there is nothing to do
  isize rows = 0;   // of the sample
  isize begin = 0;  // of the sample
};

// The samples as kernels see them: offsets of GPU memory, which may change between runs of a recorded graph,
// or none.
struct sample_rows {
  const isize* offsets = nullptr;
  isize samples = 0;
  isize length = 0;

  MOTET_HOST_DEVICE isize begin(isize s) const { return offsets != nullptr ? offsets[s] : s * length; }
  MOTET_HOST_DEVICE isize rows_of(isize s) const { return begin(s + 1) - begin(s); }
  // Sample s has the slots from begin(s) / tile + s on: as many as it needs or one more, whatever the samples
  // before it have.
  MOTET_HOST_DEVICE tile_position find(isize slot, isize tile) const {
    if (offsets == nullptr) {
      const isize each = (length + tile - 1) / tile, s = slot / each;
      return {s, slot % each * tile, length, s * length};
    }
    isize low = 0, high = samples - 1;
    while (low < high) {
      const isize middle = (low + high + 1) / 2;
      if (offsets[middle] / tile + middle <= slot) low = middle;
      else high = middle - 1;
    }
    const isize from = offsets[low];
    return {low, (slot - from / tile - low) * tile, offsets[low + 1] - from, from};
  }
};
inline sample_rows rows_for_kernels(context& ctx, const sequences& seq) {
  return {ctx.on->offsets(seq), seq.samples, seq.length};
}
// `rows` rows of these samples take so many slots.
inline isize tile_slots(const sequences& seq, isize rows, isize tile) {
  return seq.offsets == nullptr ? seq.samples * ((seq.length + tile - 1) / tile) : rows / tile + seq.samples;
}

// A factor, rounded by the host: kernels of floats then need no double.
struct attention_factor {
  double wide = 1;
  float narrow = 1;
  attention_factor() = default;
  explicit attention_factor(double value) : wide(value), narrow(static_cast<float>(value)) {}
  template <class T>
  MOTET_HOST_DEVICE T as() const {
    if constexpr (std::is_same_v<T, double>) return wide;
    else return narrow;
  }
};

struct attention_batch {
  sample_rows q, kv;
  isize heads = 1, group = 1;  // group: heads of queries for each of keys
  int width = 0;
  bool causal = false;
  bool packed = false;            // whether all rows can be moved sixteen bytes at a time
  attention_factor scale, power;  // of scores; of scores that become exponents of 2

  // One past the last key that a query of the rows before `end` sees; causal masks are aligned at the end.
  // Within a sample `int` will do, and registers are scarce.
  template <class Int = isize>
  MOTET_HOST_DEVICE Int reach(std::type_identity_t<Int> end, std::type_identity_t<Int> q_rows,
                              std::type_identity_t<Int> kv_rows) const {
    if (!causal) return kv_rows;
    const Int found = end + kv_rows - q_rows;
    return found < 0 ? 0 : found < kv_rows ? found : kv_rows;
  }
  // The block's number of a grid of queries. Under a causal mask the last queries of a sample have most work,
  // and no block should begin late with them.
  template <class Thread>
  MOTET_HOST_DEVICE isize longest_first(Thread& self) const {
    return causal ? self.blocks() - 1 - self.block() : self.block();
  }
  // The first query that sees this key, or all of them see it.
  template <class Int = isize>
  MOTET_HOST_DEVICE Int first_query(std::type_identity_t<Int> key, std::type_identity_t<Int> q_rows,
                                    std::type_identity_t<Int> kv_rows) const {
    const Int found = causal ? key + q_rows - kv_rows : 0;
    return found < 0 ? 0 : found;
  }
};

inline constexpr double log2_of_e = 1.4426950408889634074, log_of_2 = 0.69314718055994530942;

inline double attention_scale(const attention_shape& shape) {
  return shape.scale != 0 ? shape.scale : 1 / std::sqrt(static_cast<double>(shape.head_width));
}
inline attention_batch batch_of(context& ctx, const sequences& q_seq, const sequences& kv_seq,
                                const attention_shape& shape) {
  const double scale = attention_scale(shape);
  return {rows_for_kernels(ctx, q_seq),
          rows_for_kernels(ctx, kv_seq),
          shape.heads,
          shape.heads / shape.kv_heads,
          static_cast<int>(shape.head_width),
          shape.mask == mask_kind::causal,
          false /* packed: the caller knows */,
          attention_factor(scale),
          attention_factor(scale * log2_of_e)};
}
inline double attention_pairs(const sequences& q_seq, const sequences& kv_seq) {
  if (!q_seq.offsets && !kv_seq.offsets)
    return static_cast<double>(q_seq.samples) * static_cast<double>(q_seq.length * kv_seq.length);
  double pairs = 0;
  for (isize s = 0; s < kv_seq.samples; ++s)
    pairs += static_cast<double>(q_seq.rows_of(s)) * static_cast<double>(kv_seq.rows_of(s));
  return pairs;
}

MOTET_HOST_DEVICE inline float power_of_2(float x) { return ::exp2f(x); }
MOTET_HOST_DEVICE inline double power_of_2(double x) { return ::exp2(x); }
MOTET_HOST_DEVICE inline float log_2(float x) { return ::log2f(x); }
MOTET_HOST_DEVICE inline double log_2(double x) { return ::log2(x); }
template <class T>
MOTET_HOST_DEVICE T minus_infinity() {
  return -static_cast<T>(__builtin_inf());
}

// The first position of a tile that a border leaves out.
template <int Size, class Int>
MOTET_HOST_DEVICE int in_tile(Int border) {
  return border < 0 ? 0 : border < Size ? static_cast<int>(border) : Size;
}

// Rows of a head in shared memory. Rows are sixteen bytes longer than they need be, so that eight of them,
// below each other, lie in different banks.
template <int Width>
inline constexpr int bf16_row = Width + 8;

// `count` rows from first_row on, zeros below and right of them. They have arrived after await_copies and a
// barrier.
template <int Rows, int Width, class Thread>
MOTET_HOST_DEVICE void bring_tile(Thread& self, const matrix<const bf16>& from, isize first_row, isize count,
                                  isize first_column, int width, bool packed, bf16* to) {
  if (packed) {
    constexpr int packs = Width / 8;
    for (int i = self.thread(); i < Rows * packs; i += self.threads()) {
      const int r = i / packs, c = i % packs * 8;
      const bool wanted = r < count && c < width;
      copy_in_background<16>(self, to + r * bf16_row<Width> + c,
                             wanted ? from.row(first_row + r) + first_column + c : from.data, wanted);
    }
  } else {
    for (int i = self.thread(); i < Rows * Width; i += self.threads()) {
      const int r = i / Width, c = i % Width;
      to[r * bf16_row<Width> + c] =
          r < count && c < width ? from.row(first_row + r)[first_column + c] : bf16(0.0f);
    }
  }
}

// A lane finds its row for load_tiles here: among a's rows (16 x 16), and among 16 of b's columns that lie as
// rows (16 x 16 of k). The first is also the way to b's rows for load_tiles_across, 16 rows of k and 16
// columns.
template <int Width, class Thread>
MOTET_HOST_DEVICE const bf16* left_part(Thread& self, const bf16* tile, int row, int column) {
  return tile + (row + self.lane() % 16) * bf16_row<Width> + column + self.lane() / 16 * 8;
}
template <int Width, class Thread>
MOTET_HOST_DEVICE const bf16* right_part(Thread& self, const bf16* tile, int row, int column) {
  return tile + (row + self.lane() / 16 * 8 + self.lane() % 8) * bf16_row<Width> + column +
         self.lane() / 8 % 2 * 8;
}

// c (16 Strips x 8 Tiles) of a warp = its rows of `left` from `row` on, times the first 8 Tiles rows of
// `right`, both Width wide. What is read of `right` serves all strips: with one, shared memory is the bound
// on Hopper, with two the tensor cores are.
template <int Width, int Strips, int Tiles, class Thread>
MOTET_HOST_DEVICE void multiply_heads(Thread& self, float (&c)[Strips][Tiles][4], const bf16* left, int row,
                                      const bf16* right) {
  MOTET_UNROLLED
  for (int s = 0; s < Strips; ++s) MOTET_UNROLLED
  for (int n = 0; n < Tiles; ++n) c[s][n][0] = c[s][n][1] = c[s][n][2] = c[s][n][3] = 0;
  MOTET_UNROLLED
  for (int k = 0; k < Width; k += 16) {
    std::uint32_t a[Strips][4], b[4];
    MOTET_UNROLLED
    for (int s = 0; s < Strips; ++s) load_tiles(self, a[s], left_part<Width>(self, left, row + 16 * s, k));
    MOTET_UNROLLED
    for (int n = 0; n < Tiles; n += 2) {
      load_tiles(self, b, right_part<Width>(self, right, n * 8, k));
      MOTET_UNROLLED
      for (int s = 0; s < Strips; ++s) {
        multiply_tile(self, c[s][n], a[s], b[0], b[1]);
        multiply_tile(self, c[s][n + 1], a[s], b[2], b[3]);
      }
    }
  }
}
// c (16 Strips x Columns) += `left`, a product of the above, rounded, times the 8 Tiles rows of `right` from
// its column `first` on.
template <int Width, int Columns, int Strips, int Tiles, class Thread>
MOTET_HOST_DEVICE void add_scored_rows(Thread& self, float (&c)[Strips][Columns / 8][4],
                                       const float (&left)[Strips][Tiles][4], const bf16* right, int first) {
  MOTET_UNROLLED
  for (int k = 0; k < Tiles; k += 2) {
    std::uint32_t a[Strips][4], b[4];
    MOTET_UNROLLED
    for (int s = 0; s < Strips; ++s) MOTET_UNROLLED
    for (int i = 0; i < 4; ++i)
      a[s][i] = narrow_pair(self, left[s][k + i / 2][i % 2 * 2], left[s][k + i / 2][i % 2 * 2 + 1]);
    MOTET_UNROLLED
    for (int n = 0; n < Columns / 8; n += 2) {
      load_tiles_across(self, b, left_part<Width>(self, right, k * 8, first + n * 8));
      MOTET_UNROLLED
      for (int s = 0; s < Strips; ++s) {
        multiply_tile(self, c[s][n], a[s], b[0], b[1]);
        multiply_tile(self, c[s][n + 1], a[s], b[2], b[3]);
      }
    }
  }
}
// Writes 16 x Columns numbers of a warp, times the factors of rows g and g + 8, to rows of which `count` are
// wanted.
template <int Columns, class Thread>
MOTET_HOST_DEVICE void write_rows(Thread& self, const float (&c)[Columns / 8][4], float upper, float lower,
                                  const matrix<bf16>& to, isize first_row, isize count, isize first_column,
                                  int width, bool packed) {
  const int g = self.lane() / 4;
  MOTET_UNROLLED
  for (int half = 0; half < 2; ++half) {
    if (g + 8 * half >= count) continue;
    bf16* const row = to.row(first_row + g + 8 * half) + first_column;
    const float by = half == 0 ? upper : lower;
    MOTET_UNROLLED
    for (int n = 0; n < Columns / 8; ++n) {
      const int column = n * 8 + self.lane() % 4 * 2;
      const float a = c[n][2 * half] * by, b = c[n][2 * half + 1] * by;
      if (packed) {
        if (column < width) store_pair(self, row + column, a, b);
      } else {
        if (column < width) row[column] = bf16(a);
        if (column + 1 < width) row[column + 1] = bf16(b);
      }
    }
  }
}

}  // namespace motet::cuda::detail
