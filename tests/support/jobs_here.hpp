// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>
#include <motet/jobs/files/cluster_file.hpp>
#include <motet/jobs/files/memory.hpp>
#include <motet/jobs/play/rounds.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

// Tests of jobs share the small tables of tests/data/jobs, traces that are drawn, and a policy that is
// watched while it works.
namespace motet {

struct jobs_here {
  job_cluster cluster;
  job_trace trace;
  iteration_times times;
  data_parallel_memory memory;
};
inline jobs_here small_jobs() {
  const std::string at = MOTET_TEST_DATA "/jobs/";
  jobs_here out;
  out.cluster = read_job_cluster(read_text(at + "cluster.json"), "cluster.json");
  out.trace = read_job_trace(read_text(at + "trace.csv"), "trace.csv", out.cluster);
  out.times = read_iteration_times(read_text(at + "times.csv"), "times.csv");
  out.memory = read_data_parallel_memory(read_text(at + "memory.json"), "memory.json");
  return out;
}
// Cluster and times stay, and jobs are drawn anew from those of the table.
inline jobs_here drawn_jobs(std::uint64_t seed, std::size_t count) {
  jobs_here out = small_jobs();
  const random_stream chance(seed, "jobs");
  std::vector<traced_job> made;
  double now = 0;
  for (std::size_t i = 0; i < count; ++i) {
    traced_job job = out.trace.jobs[chance.below(2 * i, static_cast<std::uint32_t>(out.trace.jobs.size()))];
    now += 600.0 * -std::log(1.0 - static_cast<double>(chance.uniform(2 * i + 1)));
    job.id = "drawn-" + std::to_string(i);
    job.deadline = now + (job.deadline - job.submitted);
    job.submitted = now;
    made.push_back(job);
  }
  out.trace.jobs = made;
  return out;
}

// Says what is wrong with the devices and the queues after each call.
template <class Policy>
struct watched_policy {
  Policy policy;
  std::vector<std::string> wrong{};
  isize calls = 0;

  void on_events(job_world& world, const job_events& events) {
    policy.on_events(world, events);
    ++calls;
    isize held = 0, known = 0;
    for (std::int32_t device = 0; device < world.places.devices(); ++device) {
      const occupancy::owner who = world.places.owner_of(device);
      held += who != occupancy::nobody ? 1 : 0;
      if (who == occupancy::broken) {
        --held;
        continue;
      }
      if (world.places.is_free(device) != (who == occupancy::nobody))
        wrong.push_back("a free device has an owner");
      if (who != occupancy::nobody &&
          (!job_world::is_job(who) || world.of(who).status != job_status::running))
        wrong.push_back("a device belongs to somebody who does not run");
    }
    isize given = 0;
    for (const std::int32_t job : world.running) {
      const allotment& has = world.of(job).has;
      given += has.devices;
      if (!world.speeds.best(world.of(job).shape, has).runs)
        wrong.push_back("a job is where it does not run");
      for (const occupancy::piece& each : world.places.pieces(job))
        if (each.devices != has.per_node || world.places.kind_of(each.node) != has.kind)
          wrong.push_back("a job is not spread evenly over one kind");
    }
    if (held != given) wrong.push_back("devices are lost");
    for (const job_state& job : world.jobs) known += job.status != job_status::unknown ? 1 : 0;
    seen += static_cast<isize>(events.arrived.size());
    if (known != seen) wrong.push_back("a job is lost");
  }
  double wakes(const job_world& world) const {
    if constexpr (requires { policy.wakes(world); }) return policy.wakes(world);
    return std::numeric_limits<double>::infinity();
  }
  isize seen = 0;
};

struct watched_play {
  job_outcome outcome;
  std::vector<std::string> wrong;
};
template <class Policy>
watched_play watch(const jobs_here& on, Policy policy, isize rounds = 0) {
  job_world world(on.cluster, on.trace, on.times, on.memory, {});
  round_rules rules;
  rules.rounds = rounds;
  rules.costs = {10, 40};  // less than a round, or who is moved in each one never ends
  round_player player(world, rules);
  watched_policy<Policy> watched{std::move(policy)};
  watched_play out;
  out.outcome = player.play(watched);
  out.wrong = watched.wrong;
  return out;
}

}  // namespace motet
