// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/share.hpp>

namespace motet {

// What a rank needs for the rows of a sample, forward and back, in any one unit of time.
struct row_costs {
  double row = 0;        // for each row
  double pair = 0;       // for each two rows of a sample, which attention compares
  double exchanged = 0;  // for each row of a sample that is cut, on every rank that has a part
  double piece = 0;      // for each sample that is cut, on every such rank
  double round = 0;      // once, where any is cut

  constexpr double whole(isize rows) const {
    const auto n = static_cast<double>(rows);
    return n * (row + n * pair);
  }
  // A part of as much work as any other.
  constexpr double cut(isize rows, isize parts) const {
    return rows == 0
               ? 0
               : whole(rows) / static_cast<double>(parts) + exchanged * static_cast<double>(rows) + piece;
  }
};

}  // namespace motet
