// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/bodies.hpp>
#include <motet/tensor/dtype.hpp>

#include <cmath>
#include <limits>
#include <utility>

#if MOTET_KERNEL_BODIES
#include <motet/backend/cpu/kernels/simd.hpp>
#endif

// Products, packing and transposition of small tiles that lie in the caches: what attention and the losses
// over all pairs are made of. A packed tile is row-major in float or double; where its columns are run over
// by whole vectors, they are padded to a multiple of tile_lanes.

namespace motet::cpu {

template <class T>
inline constexpr isize tile_lanes = 64 / static_cast<isize>(sizeof(T));

// Softmax is computed in powers of two: exp(x) is 2^(x log2 e), and the factor is merged with the scale of
// the scores.
template <class T>
inline constexpr T log2_e = static_cast<T>(1.44269504088896340736);

// The peak of no number at all: below every number.
template <class T>
inline constexpr T no_peak = -std::numeric_limits<T>::max();

}  // namespace motet::cpu

namespace motet::cpu::tiles {

// c (m x n) = a b, or c += a b; a is (m x k) with row i, step p at a[i * a_row + p * a_step], so it may lie
// transposed; b is (k x n); n padded.
template <class T>
void multiply(isize m, isize n, isize k, const T* a, isize a_row, isize a_step, const T* b, isize b_row, T* c,
              isize c_row, bool add);

// to (rows x to_row) = from (rows x width), converted, zeros beyond the width; to_row is padded.
template <class To, class From>
void pack(isize rows, isize width, const From* from, isize from_row, To* to, isize to_row);

// to (width x rows) = the transpose of from (rows x width), converted, zeros beyond the rows up to a multiple
// of tile_lanes.
template <class To, class From>
void pack_transposed(isize rows, isize width, const From* from, isize from_row, To* to, isize to_row);

// to (rows x width) = from, each row times its factor (none: one), converted.
template <class From, class To>
void unpack(isize rows, isize width, const From* from, isize from_row, const From* factors, To* to,
            isize to_row);

// to (rows x width) += from.
template <class T>
void unpack_add(isize rows, isize width, const T* from, isize from_row, T* to, isize to_row);

// values (rows x width) *= the factor of each row; width padded.
template <class T>
void scale_rows(isize rows, isize width, const T* factors, T* values, isize row);

// out[r] = packed row r times other row r.
template <class T, class Other>
void dot_rows(isize rows, isize width, const T* packed, isize packed_row, const Other* other, isize other_row,
              T* out);

// out[r * out_step] = row r of a times x; width padded.
template <class T>
void times_vector(isize rows, isize width, const T* a, isize a_row, const T* x, T* out, isize out_step);

}  // namespace motet::cpu::tiles

#if MOTET_KERNEL_BODIES
#define MOTET_SIMD_BODY <motet/backend/cpu/kernels/products/tile_kernels.inc>
#include <motet/backend/cpu/kernels/simd_each.inc>

namespace motet::cpu::tiles {

template <class T>
void multiply(isize m, isize n, isize k, const T* a, isize a_row, isize a_step, const T* b, isize b_row, T* c,
              isize c_row, bool add) {
  MOTET_SIMD_DISPATCH(return, tiles::multiply(m, n, k, a, a_row, a_step, b, b_row, c, c_row, add));
}
template <class To, class From>
void pack(isize rows, isize width, const From* from, isize from_row, To* to, isize to_row) {
  MOTET_SIMD_DISPATCH(return, tiles::pack(rows, width, from, from_row, to, to_row));
}
template <class To, class From>
void pack_transposed(isize rows, isize width, const From* from, isize from_row, To* to, isize to_row) {
  MOTET_SIMD_DISPATCH(return, tiles::pack_transposed(rows, width, from, from_row, to, to_row));
}
template <class From, class To>
void unpack(isize rows, isize width, const From* from, isize from_row, const From* factors, To* to,
            isize to_row) {
  MOTET_SIMD_DISPATCH(return, tiles::unpack(rows, width, from, from_row, factors, to, to_row));
}
template <class T>
void unpack_add(isize rows, isize width, const T* from, isize from_row, T* to, isize to_row) {
  MOTET_SIMD_DISPATCH(return, tiles::unpack_add(rows, width, from, from_row, to, to_row));
}
template <class T>
void scale_rows(isize rows, isize width, const T* factors, T* values, isize row) {
  MOTET_SIMD_DISPATCH(return, tiles::scale_rows(rows, width, factors, values, row));
}
template <class T, class Other>
void dot_rows(isize rows, isize width, const T* packed, isize packed_row, const Other* other, isize other_row,
              T* out) {
  MOTET_SIMD_DISPATCH(return, tiles::dot_rows(rows, width, packed, packed_row, other, other_row, out));
}
template <class T>
void times_vector(isize rows, isize width, const T* a, isize a_row, const T* x, T* out, isize out_step) {
  MOTET_SIMD_DISPATCH(return, tiles::times_vector(rows, width, a, a_row, x, out, out_step));
}

}  // namespace motet::cpu::tiles
#endif
