// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/kernels/warp_matrix.hpp>
#include <motet/backend/cuda/products/gemm_kernel.hpp>

namespace motet::cuda {
namespace detail {

// Products of bf16 by the tensor cores, for what the library does not do: groups of rows whose sizes only the
// GPU knows. A block makes 128 x 128 of the output with eight warps of 64 x 32; k comes in steps of 32, two
// of them on their way to shared memory while one is multiplied. A step moves 16 KiB for 2^20 FLOPs, 64 for
// each byte, so a second-level cache of 5.5 TB/s bounds it at 350 TFLOP/s; what mma.sync issues on Hopper
// (about 60 % of wgmma) would be more. Rows in shared memory are 16 bytes longer than they need, so that the
// eight of an 8 x 8 matrix lie in different banks.
template <bool ATransposed, bool BTransposed, class Out, class Epilogue, class Rows>
struct multiply_matrix_tiles {
  static constexpr int most_threads = 256;
  static constexpr int side = 128, depth = 32, stages = 3, gap = 8;
  static constexpr int warp_rows = 64, warp_columns = 32, row_tiles = warp_rows / 16,
                       column_tiles = warp_columns / 8;
  static constexpr int deep = depth + gap, wide = side + gap;  // lengths of rows in shared memory
  static constexpr int tile = side * deep > depth* wide ? side* deep : depth* wide;
  static constexpr int sum_stride = side + 4;
  static constexpr isize shared_bytes = isize{2} * stages * tile * static_cast<isize>(sizeof(bf16));
  static_assert(shared_bytes >= isize{warp_rows} * sum_stride * static_cast<isize>(sizeof(float)),
                "motet: the sums of a block take the memory of its tiles");
  Rows rows;
  isize n;
  const bf16* a;  // (m, k), or (k, m) transposed
  isize a_stride;
  const bf16* b;  // (k, n), or (n, k) transposed
  isize b_stride, b_step;
  Out* out;
  isize out_stride, out_step;
  Epilogue epilogue;

  // A tile of an operand whose rows in memory run along k (`along`), or across it. Two packs for each thread.
  template <bool Along, class Thread>
  MOTET_HOST_DEVICE void fetch(Thread& self, bf16* to, const bf16* from, isize stride, isize first,
                               isize last, isize k, isize last_k) const {
    constexpr int packs = (Along ? depth : side) / 8;
    MOTET_UNROLLED
    for (int p = 0; p < side * depth / 8 / most_threads; ++p) {
      const int at = p * most_threads + self.thread(), row = at / packs, in_row = at % packs * 8;
      const isize outer = first + (Along ? row : in_row), inner = k + (Along ? in_row : row);
      const bool wanted = outer < last && inner < last_k;
      const bf16* const source = Along ? from + outer * stride + inner : from + inner * stride + outer;
      copy_in_background<16>(self, to + row * (Along ? deep : wide) + in_row, wanted ? source : from, wanted);
    }
  }
  // The lane says this to load_tiles: of 16 outer x 16 inner numbers, the second 8 x 8 matrix is next along
  // the outer or the inner direction.
  template <bool Along, bool OuterFirst>
  MOTET_HOST_DEVICE static const bf16* corner(const bf16* of, int lane, int outer, int inner) {
    const int second = lane / 8 % 2 * 8, third = lane / 16 * 8, in_matrix = lane % 8;
    const int o = outer + (OuterFirst ? second : third), i = inner + (OuterFirst ? third : second);
    return Along ? of + (o + in_matrix) * deep + i : of + (i + in_matrix) * wide + o;
  }

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    bf16* const tiles = self.template shared<bf16>(isize{2} * stages * tile);
    const isize across = (n + side - 1) / side;
    tile_share own;
    if (!rows.find(self.block() / across, side, own)) return;
    const isize column = self.block() % across * side;
    const bf16* const own_b = b + own.group * b_step;
    const int warp_row = self.warp() / 4 * warp_rows, warp_column = self.warp() % 4 * warp_columns;
    const auto begin_stage = [&](isize step) {
      const isize k = own.first_k + step * depth;
      bf16* const to = tiles + step % stages * (2 * tile);
      if (k < own.last_k) {
        fetch<!ATransposed>(self, to, a, a_stride, own.begin, own.end, k, own.last_k);
        fetch<BTransposed>(self, to + tile, own_b, b_stride, column, n, k, own.last_k);
      }
      close_copies(self);
    };

    float sums[row_tiles][column_tiles][4];
    MOTET_UNROLLED
    for (int r = 0; r < row_tiles; ++r) MOTET_UNROLLED
    for (int c = 0; c < column_tiles; ++c) MOTET_UNROLLED
    for (int i = 0; i < 4; ++i) sums[r][c][i] = 0;
    const isize steps = (own.last_k - own.first_k + depth - 1) / depth;
    MOTET_UNROLLED
    for (int s = 0; s < stages - 1; ++s) begin_stage(s);
    for (isize step = 0; step < steps; ++step) {
      await_copies<stages - 2>(self);
      self.barrier();  // this step has arrived for all, and all are done with the one before
      begin_stage(step + stages - 1);
      const bf16* const of_a = tiles + step % stages * (2 * tile);
      const bf16* const of_b = of_a + tile;
      MOTET_UNROLLED
      for (int inner = 0; inner < depth; inner += 16) {
        std::uint32_t left[row_tiles][4], right[column_tiles / 2][4];
        MOTET_UNROLLED
        for (int r = 0; r < row_tiles; ++r) {
          if constexpr (ATransposed)
            load_tiles_across(self, left[r],
                              corner<false, true>(of_a, self.lane(), warp_row + r * 16, inner));
          else load_tiles(self, left[r], corner<true, true>(of_a, self.lane(), warp_row + r * 16, inner));
        }
        MOTET_UNROLLED
        for (int c = 0; c < column_tiles / 2; ++c) {
          if constexpr (BTransposed)
            load_tiles(self, right[c], corner<true, false>(of_b, self.lane(), warp_column + c * 16, inner));
          else
            load_tiles_across(self, right[c],
                              corner<false, false>(of_b, self.lane(), warp_column + c * 16, inner));
        }
        MOTET_UNROLLED
        for (int r = 0; r < row_tiles; ++r) MOTET_UNROLLED
        for (int c = 0; c < column_tiles; ++c)
          multiply_tile(self, sums[r][c], left[r], right[c / 2][c % 2 * 2], right[c / 2][c % 2 * 2 + 1]);
      }
    }
    await_copies<0>(self);

    // Through shared memory, half of the rows at a time, so that packs are stored.
    float* const through = reinterpret_cast<float*>(tiles);
    Out* const to_group = out + own.group * out_step;
    const int g = self.lane() / 4, t = self.lane() % 4 * 2;
    for (int half = 0; half < side; half += warp_rows) {
      self.barrier();
      if (warp_row == half) {
        MOTET_UNROLLED
        for (int r = 0; r < row_tiles; ++r) MOTET_UNROLLED
        for (int c = 0; c < column_tiles; ++c) MOTET_UNROLLED
        for (int i = 0; i < 4; ++i)
          through[(r * 16 + g + i / 2 * 8) * sum_stride + warp_column + c * 8 + t + i % 2] = sums[r][c][i];
      }
      self.barrier();
      for (int at = self.thread(); at < warp_rows * side / 8; at += most_threads) {
        const int row = at / (side / 8), in_row = at % (side / 8) * 8;
        const isize i = own.begin + half + row, j = column + in_row;
        if (i >= own.end || j >= n) continue;
        float v[8];
        load_values<8, true>(through + row * sum_stride + in_row, v);
        epilogue.template apply<8, true>(i, j, v);
        Out* const to = to_group + i * out_stride + j;
        if (epilogue.accumulate) {
          float old[8];
          load_values<8, true>(to, old);
          MOTET_UNROLLED
          for (int c = 0; c < 8; ++c) v[c] += old[c];
        }
        store_values<8, true>(v, to);
      }
    }
  }
};

}  // namespace detail

// The kernel above asks this of addresses and widths; `k` does not count where both operands lie across it.
template <class Out, class Epilogue>
bool fits_matrix_tiles(const gemm_operand<bf16>& a, const gemm_operand<bf16>& b, isize m, isize n, isize k,
                       const Out* out, isize out_stride, const Epilogue& e) {
  using detail::in_eights;
  return in_eights(a.data, a.transposed ? m : k, a.stride) &&
         in_eights(b.data, b.transposed ? k : n, b.stride) && in_eights(out, n, out_stride) &&
         in_eights(e.bias, n, 0) && in_eights(e.residual, n, e.residual_stride) &&
         in_eights(e.pre, n, e.pre_stride) && in_eights(e.replayed, n, e.replayed_stride);
}

template <bool ATransposed, bool BTransposed, class Out, class Epilogue, class Rows>
void multiply_matrix_tiled(cudaStream_t stream, const Rows& rows, isize n, const gemm_operand<bf16>& a,
                           const gemm_operand<bf16>& b, isize b_step, Out* out, isize out_stride,
                           isize out_step, const Epilogue& epilogue) {
  using kernel = detail::multiply_matrix_tiles<ATransposed, BTransposed, Out, Epilogue, Rows>;
  launch(stream,
         {rows.row_tiles(kernel::side) * ((n + kernel::side - 1) / kernel::side), kernel::most_threads,
          kernel::shared_bytes},
         kernel{rows, n, a.data, a.stride, b.data, b.stride, b_step, out, out_stride, out_step, epilogue});
}

}  // namespace motet::cuda
