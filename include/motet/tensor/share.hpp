// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/sequences.hpp>

namespace motet {

// Part `which` of `whole` things over `parts` owners: as even as can be, the first ones larger. 25 heads over
// 4 are 7, 6, 6, 6; with more owners than things the last have none.
MOTET_HOST_DEVICE constexpr interval share(isize whole, isize parts, isize which) {
  const isize least = whole / parts, larger = whole % parts;
  const isize begin = which * least + (which < larger ? which : larger);
  return {begin, begin + least + (which < larger ? 1 : 0)};
}
// Thing number `at` has this owner.
MOTET_HOST_DEVICE constexpr isize owner(isize whole, isize parts, isize at) {
  const isize least = whole / parts, larger = whole % parts, of_larger = larger * (least + 1);
  if (at < of_larger) return at / (least + 1);
  return larger + (at - of_larger) / (least > 0 ? least : 1);
}

// Two intervals both hold this; empty ones begin where the later one does.
MOTET_HOST_DEVICE constexpr interval intersection(interval a, interval b) {
  const isize begin = a.begin > b.begin ? a.begin : b.begin, end = a.end < b.end ? a.end : b.end;
  return {begin, end > begin ? end : begin};
}

}  // namespace motet
