// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/share.hpp>

namespace motet {

// The rows of each sample are cut between the members of a group into one piece for each, or, so that all
// have equal work under a causal mask, into twice as many, of which part k has k and, from the other end, k
// again. Any number of rows will do; of few, some parts have none. Samples of fewer rows than long ones have
// stay whole instead, each with one member.
struct row_parts {
  isize parts = 1;
  bool balanced = false;
  isize long_rows = 0;  // from so many on they are cut; 0: all are
  isize home = 0;       // of a sample that stays whole, the part that has it

  // A part of a sample is this many intervals of its rows, one behind the other; some may be empty.
  MOTET_HOST_DEVICE constexpr isize pieces() const { return balanced ? 2 : 1; }
  MOTET_HOST_DEVICE constexpr interval piece(isize rows, isize part, isize which) const {
    if (rows < long_rows) return {0, part == home && which == 0 ? rows : 0};
    if (!balanced) return share(rows, parts, part);
    return share(rows, 2 * parts, which == 0 ? part : 2 * parts - 1 - part);
  }
  MOTET_HOST_DEVICE constexpr isize rows_of(isize rows, isize part) const {
    isize sum = 0;
    for (isize p = 0; p < pieces(); ++p) sum += piece(rows, part, p).size();
    return sum;
  }
  // A part has so many rows of all samples together, where all are cut.
  constexpr isize rows_of(const sequences& whole, isize part) const {
    if (!whole.offsets) return whole.samples * rows_of(whole.length, part);
    isize sum = 0;
    for (isize s = 0; s < whole.samples; ++s) sum += rows_of(whole.rows_of(s), part);
    return sum;
  }
  // No piece of a sample is longer.
  constexpr isize longest_piece(isize rows) const {
    return rows < long_rows ? rows : share(rows, pieces() * parts, 0).size();
  }
  // Row `at` of a part is this row of the sample.
  MOTET_HOST_DEVICE constexpr isize position(isize rows, isize part, isize at) const {
    const interval first = piece(rows, part, 0);
    return at < first.size() ? first.begin + at : piece(rows, part, 1).begin + at - first.size();
  }
  // The other way round: the number of a sample's row within a part; -1: another part has it.
  constexpr isize index(isize rows, isize part, isize row) const {
    isize before = 0;
    for (isize p = 0; p < pieces(); ++p) {
      const interval own = piece(rows, part, p);
      if (row >= own.begin && row < own.end) return before + row - own.begin;
      before += own.size();
    }
    return -1;
  }
};

}  // namespace motet
