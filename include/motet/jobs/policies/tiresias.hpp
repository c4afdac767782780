// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/world/lay_out.hpp>
#include <motet/jobs/world/world.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace motet {

struct tiresias_rules {
  // Device-seconds after which a job falls to the next queue.
  std::vector<double> limits{2 * 3600.0 * 8, 24 * 3600.0 * 8};
  double look = 300;   // seconds after which it looks again at the earliest, where nothing happens
  double promote = 8;  // a job that waited so many times as long as it ran is put into the first queue again
};

// Tiresias serves first whoever had least service, in few queues. Nothing is known of how long a job takes;
// the job with the fewest device-seconds runs first, within a queue the one that was submitted first, on the
// kind and number asked for. Others are suspended for them.
class tiresias_policy {
 public:
  explicit tiresias_policy(tiresias_rules by = {}) : rules_(std::move(by)) {}

  void on_events(job_world& world, const job_events& events) {
    for (const std::int32_t job : events.arrived) {
      world.wait(job);
      if (!world.speeds.best(world.of(job).shape, world.of(job).asked).runs) world.drop(job);
    }
    for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind) share(world, kind);
  }
  // It wants to be asked then though nothing happens, as a job goes to another queue. It is not in a hurry,
  // or two jobs of a border would change places all the time.
  double wakes(const job_world& world) const {
    double out = std::numeric_limits<double>::infinity();
    for (const std::int32_t number : world.running) {
      const job_state& job = world.of(number);
      for (const double limit : rules_.limits)
        if (const double more = limit / job.asked.devices - job.ran; more > 0)
          out = std::min(out, world.now + more);
    }
    for (const std::int32_t number : world.waiting) {
      const job_state& job = world.of(number);
      if (const double more = rules_.promote * std::max(job.ran, 300.0) - job.waited; more > 0)
        out = std::min(out, world.now + more);
    }
    return std::max(out, world.now + rules_.look);
  }

 private:
  std::size_t queue_of(const job_state& job) const {
    if (job.waited > rules_.promote * std::max(job.ran, 300.0)) return 0;
    std::size_t queue = 0;
    while (queue < rules_.limits.size() && job.ran * job.asked.devices >= rules_.limits[queue]) ++queue;
    return queue;
  }
  void share(job_world& world, std::int32_t kind) const {
    std::vector<std::pair<std::size_t, std::int32_t>> order;
    for (const auto* from : {&world.running, &world.waiting})
      for (const std::int32_t job : *from)
        if (world.of(job).asked.kind == kind) order.emplace_back(queue_of(world.of(job)), job);
    std::sort(order.begin(), order.end());
    std::int32_t left = world.places.usable_of(kind);
    std::vector<kind_layout::wish> chosen;
    std::vector<std::int32_t> fresh;
    for (const auto& [queue, job] : order) {
      const job_state& state = world.of(job);
      const bool runs = state.status == job_status::running;
      if (state.asked.devices <= left) {
        left -= state.asked.devices;
        chosen.push_back({job, state.asked.devices});
        if (!runs) fresh.push_back(job);
      } else if (runs) {
        world.places.release(job);
        world.suspend(job);
      }
    }
    if (fresh.empty()) return;
    kind_layout layout(world);
    const std::size_t mark = world.places.mark();
    if (!std::all_of(fresh.begin(), fresh.end(),
                     [&](std::int32_t job) { return layout.put(job, world.of(job).asked); })) {
      world.places.undo(mark);
      layout.lay_out(kind, std::move(chosen));
    }
    for (const std::int32_t job : fresh) world.start(job);
    world.read_places();
  }

  tiresias_rules rules_;
};

}  // namespace motet
