// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/profile.hpp>
#include <motet/plan/prove/check_lanes.hpp>

namespace motet {

// What each lane of a plan keeps of its speed while others are busy, as pairs of its modules and theirs were
// measured: the least of all that share a rank, and 1 for who was not measured. names: by which a profile
// knows the plan's modules.
constexpr list<double> kept_beside_others(const plan& of, const list<label>& names,
                                          const list<module_pair>& measured) {
  const list<double> shares = shares_of_lanes(of);
  list<double> kept(shares.size(), 1);
  for (isize k = 0; k < of.modules.size(); ++k) {
    const module_plan& own = of.modules[k];
    for (isize j = 0; j < of.modules.size(); ++j) {
      const module_plan& other = of.modules[j];
      if (own.lane == other.lane) continue;
      bool meet = false;
      for (const std::int32_t rank : own.on.ranks()) meet = meet || other.on.find(rank) >= 0;
      if (!meet) continue;
      const double mine = shares[own.lane], theirs = shares[other.lane],
                   found = 1 / slowdown_beside(measured, names[k], names[j], mine / (mine + theirs));
      // A lane that seemed faster beside the other was disturbed while it was alone.
      if (found < kept[own.lane]) kept[own.lane] = found;
    }
  }
  return kept;
}
// The names are the plan's own.
constexpr list<double> kept_beside_others(const plan& of, const list<module_pair>& measured) {
  list<label> names;
  for (const module_plan& each : of.modules) names.push(each.name);
  return kept_beside_others(of, names, measured);
}

}  // namespace motet
