// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/simulate/simulate.hpp>

namespace motet {

// Completes a timeline that was measured: of each instruction the one that it began behind, as simulate()
// tells it, and the makespan.
constexpr void find_causes(const program& of, const program_graph& graph, timeline& when) {
  const isize all = of.instructions.size();
  const list<std::int32_t> previous = graph.previous_in_lane();
  list<std::int32_t> last_to_come(graph.meeting_sizes.size(), -1);
  when.after.clear();
  when.after.resize(all, -1);
  when.makespan = 0;
  const auto later = [&when](std::int32_t a, std::int32_t b) {
    return a < 0 || (b >= 0 && when.finish[b] > when.finish[a]) ? b : a;
  };
  for (std::int32_t i = 0; i < all; ++i) {
    std::int32_t found = previous[i];
    for (const std::int32_t each : graph.waits_of(i)) found = later(found, each);
    when.after[i] = found;
    if (when.finish[i] > when.makespan) when.makespan = when.finish[i];
    // Each member of a meeting begins behind what its last member began behind.
    if (graph.meetings[i] >= 0)
      last_to_come[graph.meetings[i]] = later(last_to_come[graph.meetings[i]], found);
  }
  for (std::int32_t i = 0; i < all; ++i)
    if (graph.meetings[i] >= 0) when.after[i] = last_to_come[graph.meetings[i]];
}

}  // namespace motet
