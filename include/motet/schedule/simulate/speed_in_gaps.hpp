// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/costs.hpp>

#include <array>

namespace motet {

// The share of each lane's work, by its time alone, in which it waits for others of its groups.
using gaps_of_lanes = std::array<double, lane::most_computing>;

// How fast a lane is while those of `busy` are under way, a bit for each. In their gaps it has the device to
// itself, and its own gaps are as long as ever. Gaps are many and short and meet by chance: each lane waits
// for a share of the time that follows from how fast it is, and all of these speeds hold at once. Of more
// than two lanes only what all others leave together counts, and of lanes elsewhere, with which processors
// are shared, that they are busy.
// Asks for: a lane of `busy`; shares of gaps from 0 to below 1.
// Memory: none.
// Errors: none of its own.
// Example:
//   // Two even lanes, each of which waits half of its time: 1.21 times as long as alone, and not 1.5 times.
//   double beside_its_like() { return 1 / speed_in_gaps({}, 0, 0b11, {.5, .5}); }
constexpr double speed_in_gaps(const cost_table& costs, std::int32_t which, std::uint32_t busy,
                               const gaps_of_lanes& gaps, std::int32_t elsewhere = 0) {
  constexpr std::int32_t lanes = lane::most_computing;
  const double beside = costs.speed(which, busy, elsewhere);
  double most = 0;
  for (std::int32_t each = 0; each < lanes; ++each)
    if ((busy >> each & 1) != 0 && gaps[as_size(each)] > most) most = gaps[as_size(each)];
  if (most == 0) return beside;
  gaps_of_lanes speeds{};  // from below, so that each round is faster
  for (int round = 0; round < 40; ++round)
    for (std::int32_t own = 0; own < lanes; ++own) {
      if ((busy >> own & 1) == 0) continue;
      double others_wait = busy == std::uint32_t{1} << own ? 0 : 1;
      for (std::int32_t other = 0; other < lanes; ++other)
        if (other != own && (busy >> other & 1) != 0)
          others_wait *= gaps[as_size(other)] * speeds[as_size(other)];
      const double slow = costs.speed(own, busy, elsewhere),
                   alone = costs.speed(own, std::uint32_t{1} << own, elsewhere),
                   computes = slow + (alone > slow ? (alone - slow) * others_wait : 0),
                   waits = gaps[as_size(own)];
      speeds[as_size(own)] = 1 / ((1 - waits) / computes + waits);
    }
  return speeds[as_size(which)];
}

}  // namespace motet
