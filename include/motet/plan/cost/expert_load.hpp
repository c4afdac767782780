// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/profile.hpp>

#include <algorithm>
#include <cmath>

namespace motet {

// Of `ranks` ranks with equally many experts the busiest has so many times its even share of `choices`, where
// each is made by lot: no more on average than the mean and sqrt(2 ln ranks) deviations of what one rank has.
// Routers that learn deal less evenly or more, which only a measurement tells.
// Asks for: choices of all rows of a microbatch together, each row as many as it is given to.
// Memory: none.
// Errors: none of its own.
// Example:
//   double of_eight_thousand_rows() { return heaviest_by_lot(2 * 8000, 8); }  // 1.04
inline double heaviest_by_lot(double choices, std::int32_t ranks) {
  if (ranks < 2 || !(choices > 0)) return 1;
  const double all = ranks, deviation = std::sqrt((all - 1) / choices);  // of a rank, in even shares
  return std::min(all, 1 + deviation * std::sqrt(2 * std::log(all)));
}

// A tower with how uneven its routers are where so many samples of a microbatch are on each replica: as its
// description says, or as the profile's tower with such parts does, or by lot.
inline tower_outline with_load(tower_outline of, double samples, const degrees& split,
                               const machine_profile* measured, const training_bytes& bytes) {
  if (of.experts == 0 || of.uneven > 0) return of;
  const module_profile* const found = measured != nullptr ? find_measured(*measured, of, bytes) : nullptr;
  const double rows =
      samples * static_cast<double>(of.tokens) * static_cast<double>(of.sharers) / split.context;
  of.uneven = found != nullptr && found->of.uneven > 0
                  ? found->of.uneven
                  : heaviest_by_lot(rows * static_cast<double>(of.chosen),
                                    static_cast<std::int32_t>(of.sharers) * split.tensor);
  return of;
}

}  // namespace motet
