// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/program.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace motet {

// Of each hand, that has so-and-so replicas of the modules, which group of ranks has it. Ranks that follow
// each other, `together` of them, are never in two groups: they share a node, or the switch of a rack. Where
// a hand needs several of these, as stages of a replica do, these are one group. 0: all ranks are.
// Asks for: of each hand the replicas that have it, by module.
// Memory: a number for each hand and each rank.
// Errors: none of its own.
// Example:
//   #include <motet/schedule/core/compile.hpp>
//   #include <motet/schedule/write/one_f_one_b.hpp>
//   bool one_pipeline_is_one_group() {
//     const program of = compile(one_f_one_b::write({.stages = 2, .microbatches = 4}));
//     return groups_of_hands(of, {{0}}, 1)[0] == 0;
//   }
inline list<std::int32_t> groups_of_hands(const program& of, const list<list<std::int32_t>>& replicas,
                                          isize together) {
  list<std::int32_t> out(replicas.size(), 0);
  if (together <= 0) return out;
  // Each set of ranks names another one of its group, or itself.
  list<std::int32_t> joined((of.ranks() + together - 1) / together);
  std::iota(joined.begin(), joined.end(), 0);
  const auto first_of = [&](std::int32_t at) {
    while (joined[at] != at) at = joined[at];
    return at;
  };
  for (isize h = 0; h < replicas.size(); ++h) {
    std::int32_t own = -1;
    for (const voice& sings : of.voices)
      if (replicas[h][sings.module] == sings.replica)
        for (std::int32_t s = 0; s < sings.stages; ++s) {
          const std::int32_t met = first_of(static_cast<std::int32_t>(of.place(sings, s) / together));
          if (own >= 0) joined[std::max(met, own)] = std::min(met, own);
          own = own < 0 ? met : std::min(met, own);
        }
    out[h] = own;
  }
  // Groups are counted as hands are listed.
  list<std::int32_t> number(joined.size(), -1);
  std::int32_t groups = 0;
  for (std::int32_t& each : out) {
    std::int32_t& known = number[first_of(std::max(each, 0))];
    if (known < 0) known = groups++;
    each = known;
  }
  return out;
}

}  // namespace motet
