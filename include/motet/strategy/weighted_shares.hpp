// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>

#include <limits>

namespace motet {

// The bounds say what each owner has at least and at most. Where there is too little or too much for all, the
// even share is the bound.
struct share_bounds {
  isize least = 0;
  isize most = std::numeric_limits<isize>::max();
};

// `whole` things over owners in proportion to their weights, rounded by the largest remainder: of equal ones
// the first owner's. Who would have less than `least` or more than `most` has just that, and the others share
// the rest by their weights. Equal weights give the parts of share(). Weights are not negative; where all are
// zero, they count as equal. whole * sum of weights must be a number.
constexpr list<isize> weighted_shares(isize whole, const list<isize>& weights, share_bounds within = {}) {
  const isize owners = weights.size();
  list<isize> found(owners, 0);
  if (owners == 0) return found;
  const isize least = within.least < whole / owners ? within.least : whole / owners,
              even = (whole + owners - 1) / owners;
  const isize most = within.most < even ? even : within.most < whole ? within.most : whole;

  list<std::uint8_t> settled(owners, 0);
  isize rest = whole, sum = 0;
  bool equal = false;  // those that are not settled have no weight
  const auto weight = [&](isize i) { return equal ? isize{1} : weights[i]; };
  for (;;) {
    isize free = 0;
    sum = 0;
    for (isize i = 0; i < owners; ++i) {
      if (settled[i] != 0) continue;
      ++free;
      sum += weights[i];
    }
    equal = sum == 0;
    if (equal) sum = free;
    if (free == 0) break;
    // Count what is missing below and what is too much above, in parts of 1 / sum. The larger of both moves
    // the others' shares for sure.
    isize missing = 0, over = 0;
    for (isize i = 0; i < owners; ++i) {
      if (settled[i] != 0) continue;
      const isize quota = rest * weight(i);
      if (quota < least * sum) missing += least * sum - quota;
      if (quota > most * sum) over += quota - most * sum;
    }
    if (missing == 0 && over == 0) break;
    isize taken = 0;
    for (isize i = 0; i < owners; ++i) {
      if (settled[i] != 0) continue;
      const isize quota = rest * weight(i);
      const bool low = quota < least * sum && missing >= over, high = quota > most * sum && over >= missing;
      if (!low && !high) continue;
      found[i] = low ? least : most;
      settled[i] = 1;
      taken += found[i];
    }
    rest -= taken;
  }

  isize left = rest;
  list<isize> remainders(owners, -1);
  for (isize i = 0; i < owners; ++i) {
    if (settled[i] != 0) continue;
    found[i] = rest * weight(i) / sum;
    remainders[i] = rest * weight(i) % sum;
    left -= found[i];
  }
  for (; left > 0; --left) {
    isize first = 0;
    for (isize i = 1; i < owners; ++i)
      if (remainders[i] > remainders[first]) first = i;
    ++found[first];
    remainders[first] = -1;
  }
  return found;
}

}  // namespace motet
