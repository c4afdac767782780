// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster_kinds.hpp>
#include <motet/plan/describe/tower.hpp>

#include <algorithm>
#include <bit>

namespace motet {

// So many devices of one kind, on which a job runs in so many pipeline stages. Jobs are given cells, and
// plans are compared within one. With stages fixed, the more balanced plan is the faster one, so one can be
// chosen without running any; across numbers of stages that is not so.
struct job_cell {
  std::int32_t kind = 0;     // in the list of kinds that it was drawn from
  std::int32_t devices = 1;  // and stages: powers of two
  std::int32_t stages = 1;
  friend constexpr bool operator==(const job_cell&, const job_cell&) = default;
};

struct cell_limits {
  std::int32_t devices = 16;
  std::int32_t stages = 16;
};

// The cluster has as many nodes of a kind as a cell fills, and on each as many devices as the cell has there:
// a power of two.
constexpr cluster_facts cluster_of(const job_cell& of, const cluster_facts& kind) {
  cluster_facts out = as_one_kind(kind);
  const auto node = static_cast<std::int32_t>(std::bit_floor(as_size(kind.devices_per_node)));
  out.devices_per_node = std::min(of.devices, node);
  out.nodes = of.devices / out.devices_per_node;
  return out;
}

constexpr isize layers_of(const model_shape& of) {
  isize sum = 0;
  for (const tower_outline& each : of.towers) sum += each.layers;
  return sum;
}

// All cells of a model on a kind, by devices, then by stages; each stage has a layer and a device at least.
constexpr list<job_cell> job_cells(const model_shape& of, const cluster_facts& kind, std::int32_t number = 0,
                                   const cell_limits& limits = {}) {
  list<job_cell> out;
  const std::int32_t node = cluster_of({0, kind.devices(), 1}, kind).devices_per_node,
                     most = std::min(limits.devices, node * kind.nodes);
  const isize layers = layers_of(of);
  for (std::int32_t n = 1; n <= most; n *= 2)
    for (std::int32_t s = 1; s <= std::min(n, limits.stages) && s <= layers; s *= 2) out.push({number, n, s});
  return out;
}

}  // namespace motet
