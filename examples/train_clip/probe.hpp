// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "opened_run.hpp"

#include <motet/backend/core/messages.hpp>

namespace motet::train_clip {

// Which way the operations of a step take on this machine's GPU, found by three steps whose weights are
// thrown away: work is recorded in the second one, and the third one is replayed. Without a GPU, or without
// the memory, it says so.
inline void probe_paths(opened_run& run) {
  constexpr int steps = 3;
  try {
    run.prepare();
    const auto source = run.open_feed();
    for (int k = 0; k < steps; ++k) run.model->step(source->next(), 0);
    run.model->finish();
  } catch (const error& problem) {
    if (std::string_view(problem.code()) != no_gpu.code &&
        std::string_view(problem.code()) != gpu_memory_full.code)
      throw;
    std::printf("paths     are told where a step can run: %s\n", problem.what());
    return;
  }
  std::printf("paths of %d steps; a replay of a graph takes those of its record\n", steps);
  for (const std::string& each : run.model->paths()) std::printf("  %s\n", each.c_str());
}

}  // namespace motet::train_clip
