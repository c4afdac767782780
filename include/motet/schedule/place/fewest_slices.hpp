// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/place/fill.hpp>

namespace motet {

namespace detail {
// Fewer slices are taken where more make the step shorter by no more than this share.
inline constexpr double worth_a_slice = 1e-3;
}  // namespace detail

// Into how many slices each stage of what fills is best cut: one, two, four and so on up to `most` are tried,
// until a slice is shorter than four fifths of the gaps that the others leave; more would fit no better. The
// fewest with which the step is shortest. `fill(slices, found)` fills the gaps with so many, and returns how
// long the longest of them is, less than 0 where there is no order; without any it is 1.
// Asks for: a fill that gives the same order each time.
// Memory: that of one order.
// Errors: none of its own.
// Example:
//   int slices_of(double stage, double gap) {
//     return fewest_slices(8, [&](int slices, filled_score& found) {
//       found.short_gap = gap;
//       found.seconds = stage / slices < gap ? 10 : 20;
//       return stage / slices;
//     });
//   }
template <class Fill>
constexpr int fewest_slices(isize most, Fill&& fill) {
  double shortest = 0;
  int best = 1;
  for (int slices = 1; slices <= most; slices *= 2) {
    filled_score found;
    const double longest = fill(slices, found);
    if (longest < 0) return best;
    if (slices == 1 || found.seconds < (1 - detail::worth_a_slice) * shortest) {
      shortest = found.seconds;
      best = slices;
    }
    if (longest <= found.short_gap) return best;
  }
  return best;
}

}  // namespace motet
