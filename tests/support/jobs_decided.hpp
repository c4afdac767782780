// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs_here.hpp"

#include <motet/jobs/emit/decided_jobs.hpp>
#include <motet/jobs/play/events.hpp>
#include <motet/jobs/policies/fcfs.hpp>

namespace motet {

// First come, first served decided this of the small tables after so many seconds.
struct decided_here {
  job_world world;
  job_site site;
  decided_jobs decided;

  decided_here(const jobs_here& on, double seconds)
      : world(on.cluster, on.trace, on.times, on.memory, {}), site(usual_site(on.cluster)) {
    fcfs_policy policy;
    event_rules rules;
    rules.until = seconds;
    event_player(world, rules).play(policy);
    decided = decided_in(world, site, on.trace.jobs[0].submitted);
  }
  const decided_job& one(bool runs) const {
    return *std::find_if(decided.jobs.begin(), decided.jobs.end(),
                         [&](const decided_job& each) { return each.runs() == runs; });
  }
};

inline const std::string& text_of(const std::vector<emitted_file>& files, const std::string& path) {
  return std::find_if(files.begin(), files.end(), [&](const emitted_file& each) { return each.path == path; })
      ->text;
}

}  // namespace motet
