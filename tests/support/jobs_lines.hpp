// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/jobs_here.hpp"

#include <motet/jobs/watch/live_cluster.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

// A cluster that is told of jobs line by line, as long as a test likes.
namespace motet {

struct told_line {
  double time;
  job_line line;
};
// Jobs come faster than the small cluster runs them, end, tell of progress, and lose nodes.
inline std::vector<told_line> lines_of(const jobs_here& on, std::uint64_t seed) {
  const random_stream chance(seed, "lines");
  std::vector<told_line> out;
  std::vector<std::string> there, gone;
  double now = 0;
  for (std::uint64_t n = 0; n < 120; ++n) {
    now += 900.0 * static_cast<double>(chance.uniform(4 * n));
    job_line line;
    const std::uint32_t what = chance.below(4 * n + 1, 100);
    const auto some = [&](std::vector<std::string>& of) {
      const std::size_t at = chance.below(4 * n + 2, static_cast<std::uint32_t>(of.size()));
      std::string name = of[at];
      return name;
    };
    if (what < 55 || there.empty()) {
      line.job = on.trace.jobs[chance.below(4 * n + 3, static_cast<std::uint32_t>(on.trace.jobs.size()))];
      line.job.id = "job-" + std::to_string(n);
      line.deadline = 40000;
      there.push_back(line.job.id);
    } else if (what < 80) {
      line.event = job_event::finish;
      line.job.id = some(there);
      there.erase(std::find(there.begin(), there.end(), line.job.id));
    } else if (what < 92) {
      line.event = job_event::progress;
      line.job.id = some(there);
      line.left = 100.0 * chance.below(4 * n + 3, 50);
      line.seconds = 0.5 + static_cast<double>(chance.uniform(4 * n + 3));
    } else if (gone.size() < 2 && what < 96) {
      line.event = job_event::lost;
      line.node =
          static_cast<std::int32_t>(chance.below(4 * n + 3, static_cast<std::uint32_t>(on.cluster.nodes())));
      if (std::find(gone.begin(), gone.end(), std::to_string(line.node)) != gone.end()) continue;
      gone.push_back(std::to_string(line.node));
    } else if (!gone.empty()) {
      line.event = job_event::back;
      line.node = std::atoi(gone.back().c_str());
      gone.pop_back();
    } else {
      continue;
    }
    out.push_back({now, line});
  }
  return out;
}

struct life {
  job_world world;
  live_cluster live;
  life(const jobs_here& on, std::string_view policy)
      : world(on.cluster, on.times, on.memory, {}),
        live(world, live_policy_of({.policy = std::string(policy)})) {}
};

}  // namespace motet
