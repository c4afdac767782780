// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/products/gemm_epilogue.hpp>

namespace motet::cuda {

// A matrix of a product, by rows; transposed: its rows are what the product runs over.
template <class T>
struct gemm_operand {
  const T* data = nullptr;
  isize stride = 0;
  bool transposed = false;

  MOTET_HOST_DEVICE T at(isize outer, isize inner) const {
    return transposed ? data[inner * stride + outer] : data[outer * stride + inner];
  }
};

namespace detail {

// A share is what a block's tile has of the products that a launch makes: rows of a and of the output, the
// part of k, and which of several products it is of.
struct tile_share {
  isize begin = 0, end = 0, first_k = 0, last_k = 0, group = 0;
};
// One product.
struct whole_product {
  isize m, k;
  isize row_tiles(int side) const { return (m + side - 1) / side; }
  MOTET_HOST_DEVICE bool find(isize tile, int side, tile_share& found) const {
    const isize begin = tile * side, end = begin + side;
    found = {begin, end < m ? end : m, 0, k, 0};
    return true;
  }
};

}  // namespace detail

// Rows are in groups that lie one below the other, each with its own b: group g has rows [starts[g], starts[g
// + 1]), as only the GPU knows. There are `most` rows.
struct grouped_rows {
  const isize* starts;
  isize groups, most, k;
  isize row_tiles(int side) const { return most / side + groups; }
  MOTET_HOST_DEVICE bool find(isize tile, int side, detail::tile_share& found) const {
    isize begin = starts[0];
    for (isize g = 0; g < groups; ++g) {
      const isize end = starts[g + 1], tiles = (end - begin + side - 1) / side;
      if (tile < tiles) {
        const isize first = begin + tile * side, last = first + side;
        found = {first, last < end ? last : end, 0, k, g};
        return true;
      }
      tile -= tiles;
      begin = end;
    }
    return false;
  }
};
// The sums run over such groups, and each has its own output of m rows.
struct grouped_sums {
  const isize* starts;
  isize groups, m;
  isize row_tiles(int side) const { return groups * ((m + side - 1) / side); }
  MOTET_HOST_DEVICE bool find(isize tile, int side, detail::tile_share& found) const {
    const isize tiles = (m + side - 1) / side, g = tile / tiles, begin = tile % tiles * side,
                end = begin + side;
    found = {begin, end < m ? end : m, starts[g], starts[g + 1], g};
    return true;
  }
};

namespace detail {

// out[m, n] = epilogue(a[m, k] b[k, n]), or b by its columns when b.transposed. For every type, stride and
// address: what runs where the library does not. Tiles of 64 x 64 from shared memory, sums in registers: n, m
// >> 64 read each operand (m or n) / 64 times from the second-level cache, and the rate is that of ordinary
// multiply-adds (about a tenth of the tensor cores').
template <class A, class B, class Out, class Epilogue, class Rows>
struct multiply_tiles {
  static constexpr int most_threads = 256;
  static constexpr int side = 64, depth = 16, gap = 4, each = 4, lanes = side / each;
  using sum = typename Epilogue::sum;
  Rows rows;
  isize n;
  gemm_operand<A> a;  // (m, k), or (k, m) transposed
  gemm_operand<B> b;  // (k, n), or (n, k) transposed
  isize b_step;       // elements from one group to the next
  Out* out;
  isize out_stride, out_step;
  Epilogue epilogue;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    sum* const of_a = self.template shared<sum>(depth * (side + gap));
    sum* const of_b = self.template shared<sum>(depth * (side + gap));
    const isize tiles = (n + side - 1) / side;
    tile_share own;
    if (!rows.find(self.block() / tiles, side, own)) return;
    const isize begin = own.begin, end = own.end, k = own.last_k, column = self.block() % tiles * side;
    gemm_operand<B> own_b = b;
    own_b.data += own.group * b_step;
    Out* const to_group = out + own.group * out_step;
    const int t = self.thread(), x = t % lanes, y = t / lanes;
    sum v[each][each];
    MOTET_UNROLLED
    for (int r = 0; r < each; ++r) MOTET_UNROLLED
    for (int c = 0; c < each; ++c) v[r][c] = 0;
    for (isize from = own.first_k; from < k; from += depth) {
      // Neighbouring threads read neighbours in memory, whichever way the operand lies.
      for (int at = t; at < side * depth; at += self.threads()) {
        const int i = a.transposed ? at % side : at / depth, l = a.transposed ? at / side : at % depth;
        of_a[l * (side + gap) + i] =
            begin + i < end && from + l < k ? static_cast<sum>(a.at(begin + i, from + l)) : sum(0);
        const int j = own_b.transposed ? at / depth : at % side,
                  h = own_b.transposed ? at % depth : at / side;
        of_b[h * (side + gap) + j] =
            column + j < n && from + h < k ? static_cast<sum>(own_b.at(from + h, column + j)) : sum(0);
      }
      self.barrier();
      MOTET_UNROLLED
      for (int l = 0; l < depth; ++l) {
        sum left[each], right[each];
        MOTET_UNROLLED
        for (int r = 0; r < each; ++r) left[r] = of_a[l * (side + gap) + y + r * lanes];
        MOTET_UNROLLED
        for (int c = 0; c < each; ++c) right[c] = of_b[l * (side + gap) + x + c * lanes];
        MOTET_UNROLLED
        for (int r = 0; r < each; ++r) MOTET_UNROLLED
        for (int c = 0; c < each; ++c) v[r][c] += left[r] * right[c];
      }
      self.barrier();
    }
    MOTET_UNROLLED
    for (int r = 0; r < each; ++r) MOTET_UNROLLED
    for (int c = 0; c < each; ++c) {
      const isize i = begin + y + r * lanes, j = column + x + c * lanes;
      if (i >= end || j >= n) continue;
      sum one[1] = {v[r][c]};
      epilogue.template apply<1, false>(i, j, one);
      Out& to = to_group[i * out_stride + j];
      to = stored_as<Out>(epilogue.accumulate ? one[0] + static_cast<sum>(to) : one[0]);
    }
  }
};

}  // namespace detail

template <class A, class B, class Out, class Epilogue, class Rows>
void multiply_tiled(cudaStream_t stream, const Rows& rows, isize n, gemm_operand<A> a, gemm_operand<B> b,
                    isize b_step, Out* out, isize out_stride, isize out_step, const Epilogue& epilogue) {
  using kernel = detail::multiply_tiles<A, B, Out, Epilogue, Rows>;
  const isize blocks = rows.row_tiles(kernel::side) * ((n + kernel::side - 1) / kernel::side);
  const isize shared =
      2 * kernel::depth * (kernel::side + kernel::gap) * static_cast<isize>(sizeof(typename kernel::sum));
  launch(stream, {blocks, 256, shared}, kernel{rows, n, a, b, b_step, out, out_stride, out_step, epilogue});
}

namespace detail {

template <class A, class B, class Out, class Epilogue>
void multiply_own(cudaStream_t stream, isize m, isize n, isize k, gemm_operand<A> a, gemm_operand<B> b,
                  Out* out, isize out_stride, const Epilogue& epilogue) {
  multiply_tiled(stream, whole_product{m, k}, n, a, b, 0, out, out_stride, 0, epilogue);
}

}  // namespace detail
}  // namespace motet::cuda
