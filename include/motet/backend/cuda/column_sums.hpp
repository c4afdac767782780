// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/context.hpp>
#include <motet/backend/cuda/gemm_epilogue.hpp>

namespace motet::cuda::detail {

// How many slices of rows are summed side by side. The same on every GPU, so that sums are.
inline index column_slices(index rows) {
  const index slices = (rows + 63) / 64;
  return slices < 1 ? 1 : slices > 128 ? 128 : slices;
}

// partial[s, j] = the sum of slice s of column j. A block has 32 lanes' columns and eight warps that take turns with the rows; each number is read
// once, so the floor is rows * width * bytes over the copy bandwidth, as the partial sums are 128 rows at most.
template <class X, class M, bool Packed>
struct sum_slices {
  static constexpr int most_threads = 256;
  static constexpr int each = Packed ? pack<X>::size : 1;
  const X* x;
  index stride, rows, width, slices;
  M* partial;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    M* const shared = self.template shared<M>(static_cast<index>(self.threads()) * each);
    const index tiles = (width + warp_size * each - 1) / (warp_size * each);
    const index slice = self.block() / tiles, j = (self.block() % tiles * warp_size + self.lane()) * each;
    const index begin = rows * slice / slices, end = rows * (slice + 1) / slices;
    M sums[each];
    MOTET_UNROLLED
    for (int c = 0; c < each; ++c) sums[c] = 0;
    if (j < width) {
      index i = begin + self.warp();
      for (; i + 3 * self.warps() < end; i += 4 * self.warps()) {  // four loads in flight
        M v[4][each];
        MOTET_UNROLLED
        for (int u = 0; u < 4; ++u) load_values<each, Packed>(x + (i + u * self.warps()) * stride + j, v[u]);
        MOTET_UNROLLED
        for (int u = 0; u < 4; ++u) MOTET_UNROLLED
        for (int c = 0; c < each; ++c) sums[c] += v[u][c];
      }
      for (; i < end; i += self.warps()) {
        M v[each];
        load_values<each, Packed>(x + i * stride + j, v);
        MOTET_UNROLLED
        for (int c = 0; c < each; ++c) sums[c] += v[c];
      }
    }
    MOTET_UNROLLED
    for (int c = 0; c < each; ++c) shared[c * self.threads() + self.thread()] = sums[c];
    self.barrier();
    if (self.warp() > 0 || j >= width) return;
    MOTET_UNROLLED
    for (int c = 0; c < each; ++c) {
      M sum = 0;
      for (int w = 0; w < self.warps(); ++w) sum += shared[c * self.threads() + w * warp_size + self.lane()];
      partial[slice * width + j + c] = sum;
    }
  }
};
template <class M>
struct add_slices {
  const M* partial;
  index width, slices;
  M* to;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (index j = self.number(); j < width; j += self.all()) {
      M sum = 0;
      for (index s = 0; s < slices; ++s) sum += partial[s * width + j];
      to[j] += sum;
    }
  }
};

// Numbers of scratch memory that add_column_sums wants.
inline index column_sum_numbers(index rows, index width) { return column_slices(rows) * width; }

// to[j] += the sum of column j, always in the same order.
template <class X, class M>
void add_column_sums(context& ctx, matrix<X> x, M* partial, M* to) {
  using number = std::remove_const_t<X>;
  if (x.rows <= 0 || x.width <= 0) return;
  const index slices = column_slices(x.rows);
  const bool packed = in_packs(x.data, x.width, x.stride);
  const index columns = warp_size * (packed ? pack<number>::size : 1), blocks = (x.width + columns - 1) / columns * slices;
  const index shared = 8 * columns * static_cast<index>(sizeof(M));
  if (packed) launch(ctx.stream(), {blocks, 256, shared}, sum_slices<number, M, true>{x.data, x.stride, x.rows, x.width, slices, partial});
  else launch(ctx.stream(), {blocks, 256, shared}, sum_slices<number, M, false>{x.data, x.stride, x.rows, x.width, slices, partial});
  launch(ctx.stream(), {blocks_for(x.width, 64), 64, 0}, add_slices<M>{partial, x.width, slices, to});
}

}  // namespace motet::cuda::detail
