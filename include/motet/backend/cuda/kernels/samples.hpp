// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/context.hpp>
#include <motet/backend/cuda/kernels/divisor.hpp>

// Samples as kernels see them.

namespace motet::cuda {

// The samples with their offsets on the GPU.
inline sequences samples_on_gpu(context& ctx, const sequences& seq) {
  return {seq.samples, seq.length, ctx.on->offsets(seq)};
}

inline isize longest_of(const sequences& seq) {
  if (seq.offsets == nullptr) return seq.length;
  isize longest = 0;
  for (isize s = 0; s < seq.samples; ++s) longest = std::max(longest, seq.rows_of(s));
  return longest;
}

// The part of a matrix that belongs to the samples; an empty one stays empty.
template <class T>
matrix<T> rows_of(const sequences& seq, matrix<T> x) {
  return x.data == nullptr ? x : x.slice(0, seq.rows());
}

// Counts as if all samples were as long as the longest: number = sample * longest + position. What ragged
// samples lack has no row.
struct padded_rows {
  sequences seq;  // on the GPU
  divisor longest;
  isize skipped = 0;  // rows at the beginning of each sample that are left out

  struct padded_row {
    isize sample, position, row;  // row -1: none
  };
  MOTET_HOST_DEVICE padded_row at(isize number) const {
    auto rest = static_cast<std::uint32_t>(number);
    const isize sample = longest.divide(rest), position = static_cast<isize>(rest) + skipped;
    return {sample, position, position < seq.rows_of(sample) ? seq.begin(sample) + position : -1};
  }
};

inline padded_rows padded(context& ctx, const sequences& seq, isize skipped = 0) {
  return {samples_on_gpu(ctx, seq), divisor(std::max<isize>(1, longest_of(seq) - skipped)), skipped};
}
inline isize padded_count(const sequences& seq, isize skipped = 0) {
  return seq.samples * std::max<isize>(0, longest_of(seq) - skipped);
}

}  // namespace motet::cuda
