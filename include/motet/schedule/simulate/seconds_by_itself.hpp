// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/simulate/simulate.hpp>

#include <algorithm>

namespace motet {

// What each instruction of a timeline takes with the device of its rank to itself. While other lanes of the
// rank were busy, or of all ranks where these share processors, it had a part of the device, which `sharing`
// says; all else takes what it took. From a timeline of simulate() it finds the seconds that were given.
constexpr list<double> seconds_by_itself(const program& of, const timeline& when, const cost_table& sharing) {
  list<double> out(of.instructions.size(), 0);
  for (isize i = 0; i < out.size(); ++i) out[i] = when.finish[i] - when.start[i];
  struct computed {
    std::int32_t at, rank;
  };
  // Takes out all that takes a device, of those who share; the ranks one by one, or together.
  const auto take_out = [&](std::int32_t first, std::int32_t last) {
    list<computed> all;
    bool shares = false;
    for (std::int32_t r = first; r < last; ++r) {
      std::uint32_t lanes = 0;
      for (std::int32_t i = of.starts[r]; i < of.starts[r + 1]; ++i) {
        if (!takes_device(of.instructions[i])) continue;
        all.push({i, r});
        lanes |= lane_bit(of.instructions[i]);
      }
      shares = shares || (lanes & (lanes - 1)) != 0;
    }
    if (!shares) return;
    for (const auto& [i, rank] : all) {
      const instruction& own = of.instructions[i];
      list<computed> beside;
      list<double> cuts;
      cuts.push(when.start[i]);
      cuts.push(when.finish[i]);
      for (const computed& other : all) {
        const std::int32_t j = other.at;
        if (other.rank == rank && of.instructions[j].lane == own.lane) continue;
        const double from = std::max(when.start[i], when.start[j]),
                     to = std::min(when.finish[i], when.finish[j]);
        if (from >= to) continue;
        beside.push(other);
        cuts.push(from);
        cuts.push(to);
      }
      sort_stably(cuts, [](double left, double right) { return left < right; });
      out[i] = 0;
      for (isize k = 0; k + 1 < cuts.size(); ++k) {
        std::uint32_t busy = lane_bit(own);
        std::int32_t elsewhere = 0;
        for (const auto& [j, theirs] : beside) {
          if (when.start[j] > cuts[k] || when.finish[j] < cuts[k + 1]) continue;
          if (theirs == rank) busy |= lane_bit(of.instructions[j]);
          else ++elsewhere;
        }
        out[i] += (cuts[k + 1] - cuts[k]) * sharing.speed(lane::which_computing(own.lane), busy, elsewhere);
      }
    }
  };
  if (sharing.processors > 0) take_out(0, of.ranks());
  else
    for (std::int32_t r = 0; r < of.ranks(); ++r) take_out(r, r + 1);
  return out;
}

}  // namespace motet
