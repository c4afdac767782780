// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/step_costs.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>

namespace motet {

// A forecast says what a function of a context will need. It is counted by a dry run, which touches no data.
struct step_forecast {
  isize memory = 0;    // bytes, shared by a team
  isize scratch = 0;   // bytes, for each thread
  step_costs costs{};  // FLOPs and bytes by section

  // Afterwards there is room for both, one at a time.
  void cover(const step_forecast& other) {
    memory = std::max(memory, other.memory);
    scratch = std::max(scratch, other.scratch);
  }
};

}  // namespace motet
