// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/cluster.hpp>
#include <motet/jobs/occupancy.hpp>
#include <motet/jobs/speeds.hpp>
#include <motet/jobs/trace.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace motet {

enum class job_status : std::uint8_t { unknown, waiting, running, finished, dropped };

// A job as policies and the simulator see it.
struct job_state {
  index traced = 0;  // in the trace
  index shape = 0;   // in the table of speeds: model, size and batch
  double submitted = 0, deadline = 0;
  double work = 0;    // iterations in all, or what was left when it was last suspended
  double left = 0;    // iterations
  double ran = 0;     // seconds on devices
  double waited = 0;  // seconds
  double pause = 0;   // seconds of a change that is not over
  double ended = 0;
  double first_started = -1;
  allotment asked;  // by its owner
  allotment has;    // or would have: what it was given last, or asked for
  job_status status = job_status::unknown;
  bool paused = false;  // by a change that takes longer than a round
  index changes = 0;    // how often it was started, moved or resized
};

// What happened since a policy was asked last.
struct job_events {
  std::vector<std::int32_t> ended, arrived;
};

// What a policy sees and changes: devices, jobs and queues. It gives devices by `places`, and says who runs
// by start() and suspend(). Who runs, and who waits, stand in the order in which they began to.
class job_world {
 public:
  job_world(const job_cluster& of, const job_trace& from, const iteration_times& times,
            const data_parallel_memory& memory, const speed_rules& rules)
      : places(of, static_cast<index>(from.jobs.size() + of.kinds.size())),
        speeds(of, times, memory, rules),
        trace(&from) {
    for (std::size_t j = 0; j < from.jobs.size(); ++j) {
      const traced_job& each = from.jobs[j];
      job_state made;
      made.traced = static_cast<index>(j);
      made.shape = speeds.shape_of(each.model, each.batch);
      made.asked = made.has = speeds.packed(each.kind, each.devices);
      jobs.push_back(made);
    }
  }

  occupancy places;
  speed_table speeds;
  const job_trace* trace;
  std::vector<job_state> jobs;
  std::vector<std::int32_t> running, waiting;
  double now = 0;
  double round = 300;  // seconds

  // An owner who holds the free devices of a kind while a search must not see them.
  occupancy::owner nobody_of(index kind) const {
    return static_cast<occupancy::owner>(trace->jobs.size()) + static_cast<occupancy::owner>(kind);
  }
  bool is_job(occupancy::owner who) const { return who < static_cast<occupancy::owner>(trace->jobs.size()); }

  job_state& of(std::int32_t job) { return jobs[as_size(job)]; }
  const job_state& of(std::int32_t job) const { return jobs[as_size(job)]; }

  // Where a job is now; where it has no devices, what it would have.
  allotment placed(std::int32_t job, const allotment& would) const {
    const std::vector<occupancy::piece>& on = places.pieces(job);
    if (on.empty()) return speeds.packed(would.kind, would.devices);
    const std::int32_t all = places.devices_of(job);
    return {places.kind_of(on[0].node), all, all / static_cast<std::int32_t>(on.size())};
  }
  allotment placed(std::int32_t job) const { return placed(job, of(job).has); }

  // Devices must have been given before.
  void start(std::int32_t job) {
    leave(waiting, job);
    running.push_back(job);
    of(job).status = job_status::running;
    if (of(job).first_started < 0) of(job).first_started = now;
    of(job).has = placed(job);
  }
  void wait(std::int32_t job) {
    waiting.push_back(job);
    of(job).status = job_status::waiting;
  }
  // Devices must have been taken before.
  void suspend(std::int32_t job) {
    leave(running, job);
    wait(job);
    of(job).work = of(job).left;
  }
  // A job that no policy will ever run.
  void drop(std::int32_t job) {
    leave(waiting, job);
    of(job).status = job_status::dropped;
  }
  void finish(std::int32_t job, double at) {
    leave(running, job);
    of(job).status = job_status::finished;
    of(job).ended = at;
  }
  // Of all that run: what they have is what their devices say.
  void read_places() {
    for (const std::int32_t job : running) of(job).has = placed(job);
  }

 private:
  static void leave(std::vector<std::int32_t>& queue, std::int32_t job) {
    const auto at = std::find(queue.begin(), queue.end(), job);
    if (at != queue.end()) queue.erase(at);
  }
};

// What decides: it is told what happened, and gives, takes and moves devices.
template <class Policy>
concept job_policy =
    requires(Policy& policy, job_world& world, const job_events& events) { policy.on_events(world, events); };

}  // namespace motet
