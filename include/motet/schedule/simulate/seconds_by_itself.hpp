// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/simulate/simulate.hpp>

#include <algorithm>

namespace motet {

// What each instruction of a timeline takes with the device of its rank to itself. While other lanes of the rank
// were busy it had a part of the device, which `sharing` says; all else takes what it took. From a timeline of
// simulate() it finds the seconds that were given.
constexpr list<double> seconds_by_itself(const program& of, const timeline& when, const cost_table& sharing) {
  list<double> out(of.instructions.size(), 0);
  for (isize i = 0; i < out.size(); ++i) out[i] = when.finish[i] - when.start[i];
  for (std::int32_t r = 0; r < of.ranks(); ++r) {
    list<std::int32_t> all;
    std::uint32_t lanes = 0;
    for (std::int32_t i = of.starts[r]; i < of.starts[r + 1]; ++i) {
      if (!takes_device(of.instructions[i])) continue;
      all.push(i);
      lanes |= lane_bit(of.instructions[i]);
    }
    if ((lanes & (lanes - 1)) == 0) continue;
    for (const std::int32_t i : all) {
      const instruction& own = of.instructions[i];
      list<std::int32_t> beside;
      list<double> cuts;
      cuts.push(when.start[i]);
      cuts.push(when.finish[i]);
      for (const std::int32_t j : all) {
        if (of.instructions[j].lane == own.lane) continue;
        const double from = std::max(when.start[i], when.start[j]),
                     to = std::min(when.finish[i], when.finish[j]);
        if (from >= to) continue;
        beside.push(j);
        cuts.push(from);
        cuts.push(to);
      }
      sort_stably(cuts, [](double left, double right) { return left < right; });
      out[i] = 0;
      for (isize k = 0; k + 1 < cuts.size(); ++k) {
        std::uint32_t busy = lane_bit(own);
        for (const std::int32_t j : beside)
          if (when.start[j] <= cuts[k] && when.finish[j] >= cuts[k + 1]) busy |= lane_bit(of.instructions[j]);
        out[i] += (cuts[k + 1] - cuts[k]) * sharing.speed(lane::which_computing(own.lane), busy);
      }
    }
  }
  return out;
}

}  // namespace motet
