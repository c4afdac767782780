// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/collective_cost.hpp>
#include <motet/plan/cost/piece_times.hpp>
#include <motet/plan/disttrain/chain_plan.hpp>

namespace motet {

// What the language model of a chain computes for one sample, and exchanges in a tensor group inside one node
// meanwhile, forward and back, on all its stages together. A layer gathers rows before two products and sums
// rows behind two others; backward does the same with their gradients, and gathers what the first products
// read once more, for the gradients of their weights.
constexpr piece_times language_overlap(const chain_costs& costs, isize tensor) {
  const chain_part& of = costs.model().parts[chain_model::middle];
  const double rows_bytes = 2 * costs.model().rows * static_cast<double>(of.width),
               calls = 10 * static_cast<double>(of.layers);
  const group_layout group{.nodes = 1, .per_node = static_cast<std::int32_t>(tensor)};
  const auto one = [&](double bytes) { return all_gather_cost(bytes, group, costs.cluster()).seconds; };
  return {3 * costs.unit_seconds(chain_model::middle, tensor), calls * one(rows_bytes), calls * one(0)};
}

}  // namespace motet
