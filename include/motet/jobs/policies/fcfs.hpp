// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/world/placing.hpp>
#include <motet/jobs/world/world.hpp>

#include <cstdint>
#include <vector>

namespace motet {

// First come, first served: each job gets the kind and the number of devices that it asked for, in the best
// layout, or waits; who waits for a kind holds up all who come later for it. Jobs that run nowhere as they
// are asked for are dropped.
class fcfs_policy {
 public:
  void on_events(job_world& world, const job_events& events) {
    if (events.frees()) restart(world);
    for (const std::int32_t job : events.arrived) {
      const allotment& asked = world.of(job).asked;
      if (!world.speeds.best(world.of(job).shape, asked).runs) {
        world.drop(job);
      } else if (!somebody_waits(world, asked.kind) && place_spread(world.places, job, asked)) {
        world.start(job);
      } else {
        world.wait(job);
      }
    }
  }

 private:
  static bool somebody_waits(const job_world& world, std::int32_t kind) {
    for (const std::int32_t job : world.waiting)
      if (world.of(job).asked.kind == kind) return true;
    return false;
  }
  static void restart(job_world& world) {
    std::vector<std::uint8_t> blocked(as_size(world.places.kinds()));
    const std::vector<std::int32_t> queue = world.waiting;
    for (const std::int32_t job : queue) {
      const allotment& asked = world.of(job).asked;
      if (blocked[as_size(asked.kind)] != 0) continue;
      if (place_spread(world.places, job, asked)) world.start(job);
      else blocked[as_size(asked.kind)] = 1;
    }
  }
};

}  // namespace motet
