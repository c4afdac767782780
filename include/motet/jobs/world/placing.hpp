// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/world/occupancy.hpp>
#include <motet/jobs/world/world.hpp>

#include <cstdint>
#include <vector>

namespace motet {

// Puts a job onto nodes with enough free devices, those with the most of them first. False, and nothing
// changed, where there are too few such nodes.
inline bool place_spread(occupancy& places, std::int32_t job, const allotment& as) {
  std::vector<std::int32_t> nodes;
  for (std::int32_t free = places.per_node(as.kind); free >= as.per_node; --free)
    if (!places.each_with(as.kind, free, [&](std::int32_t node) {
          nodes.push_back(node);
          return static_cast<std::int32_t>(nodes.size()) < as.nodes();
        }))
      break;
  if (static_cast<std::int32_t>(nodes.size()) < as.nodes()) return false;
  for (const std::int32_t node : nodes) places.give(job, node, as.per_node);
  return true;
}

// Places a job in the best layout, or else halved over twice the nodes, and again, as far as `runs(layout)`
// says that it runs.
template <class Runs>
bool place_spread_or_relaxed(occupancy& places, std::int32_t job, allotment as, Runs runs) {
  if (!runs(as)) return false;
  while (!place_spread(places, job, as)) {
    if (as.per_node == 1) return false;
    as.per_node /= 2;
    if (!runs(as)) return false;
  }
  return true;
}

}  // namespace motet
