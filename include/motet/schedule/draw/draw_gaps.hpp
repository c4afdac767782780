// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/costs.hpp>
#include <motet/schedule/draw/draw_names.hpp>

#include <string>

namespace motet {

// How much of each stage's forward and backward is gaps, a line for each stage that has some; no text where
// none has. Stages are counted from 0, as in a trace.
// Asks for: costs of the program's stages, as measured_costs() makes them.
// Memory: the text.
// Errors: none of its own.
// Example:
//   std::string gaps_of(const program& steps, const cost_table& costs) { return draw_gaps(steps, costs); }
inline std::string draw_gaps(const program& of, const cost_table& costs) {
  const detail::drawn_names names(of, 0);
  std::string out;
  for (std::int32_t v = 0; v < of.voices.size(); ++v) {
    const voice& sings = of.voices[v];
    const std::string module = names.module(v);
    for (std::int32_t s = 0; s < sings.stages; ++s) {
      const stage_cost& own = costs.stages[sings.first_place + s];
      const double forward = own.gaps(op::forward), backward = own.gaps(op::backward);
      if (!(forward > 0 || backward > 0)) continue;
      out += (module.empty() ? "module " + std::to_string(sings.module) : module) + " stage " +
             std::to_string(s) + " waits for others of its groups: forward " + detail::percent(forward) +
             ", backward " + detail::percent(backward) + "\n";
    }
  }
  return out;
}

}  // namespace motet
