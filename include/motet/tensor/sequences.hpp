// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

namespace motet {

// An interval of rows or samples.
struct interval {
  isize begin = 0;
  isize end = 0;
  MOTET_HOST_DEVICE constexpr isize size() const { return end - begin; }
};

struct rows_beside;  // nn/layers/entering_rows.hpp

// The rows of a batch belong to its samples: every sample has `length` rows, or sample s the rows
// [offsets[s], offsets[s + 1]). Nothing is padded; a sample may have no rows.
struct sequences {
  isize samples = 0;
  isize length = 1;                // of each sample, when offsets is null
  const isize* offsets = nullptr;  // samples + 1 entries
  // Rows of another module that the same samples have, for layers that look at them; none: there are none.
  const rows_beside* beside = nullptr;

  MOTET_HOST_DEVICE constexpr isize begin(isize sample) const {
    return offsets ? offsets[sample] : sample * length;
  }
  MOTET_HOST_DEVICE constexpr isize end(isize sample) const { return begin(sample + 1); }
  MOTET_HOST_DEVICE constexpr isize rows() const { return begin(samples); }
  MOTET_HOST_DEVICE constexpr isize rows_of(isize sample) const { return end(sample) - begin(sample); }
  // Pooling leaves the same samples with one row each.
  constexpr sequences pooled() const { return {samples, 1, nullptr}; }

  // The samples that belong to part `which` of `parts`: whole samples, rows as even as that allows. Every
  // operation on rows uses this one split, so that what a thread reads it wrote itself.
  constexpr interval part(isize which, isize parts) const {
    return {boundary(which, parts), boundary(which + 1, parts)};
  }
  constexpr interval part_rows(isize which, isize parts) const {
    const interval own = part(which, parts);
    return {begin(own.begin), begin(own.end)};
  }

 private:
  constexpr isize boundary(isize which, isize parts) const {
    if (!offsets) return samples * which / parts;
    if (which == 0) return 0;
    if (which == parts) return samples;
    // First sample that starts at or after the even share of the rows.
    const isize goal = rows() * which / parts;
    isize low = 0, high = samples;
    while (low < high) {
      const isize middle = (low + high) / 2;
      if (offsets[middle] < goal) low = middle + 1;
      else high = middle;
    }
    return low;
  }
};

}  // namespace motet
