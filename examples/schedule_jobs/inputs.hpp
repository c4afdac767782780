// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <motet/jobs/files/cell_times.hpp>

#include <cstdio>
#include <optional>
#include <vector>

namespace motet::schedule_jobs {

// Inputs are what the files of the command line say.
struct inputs {
  job_cluster cluster;
  job_trace trace;
  std::vector<job_model> models;
  std::optional<cell_times> cells;  // where times are estimated
  iteration_times times;
  data_parallel_memory memory;
  policy_question asked;
};

inline inputs read_inputs(const settings& given) {
  inputs out;
  out.asked = given.asked;
  out.cluster = choose_cluster(given.cluster);
  if (!given.trace.empty())
    out.trace = read_job_trace(read_text(given.trace), given.trace, out.cluster, given.stand_in);
  if (out.trace.out_of_order > 0)
    std::fprintf(stderr,
                 "schedule_jobs: %s: %td jobs stand behind later ones, the first in line %td; sorted by "
                 "submission_time\n",
                 given.trace.c_str(), out.trace.out_of_order, out.trace.first_out_of_order);
  if (given.times == "cells") {
    out.models = read_job_models(read_text(given.models), given.models);
    out.cells.emplace(out.cluster, out.trace, out.models);
    out.times = out.cells->times();
  } else {
    out.times = read_iteration_times(read_text(given.times), given.times);
  }
  if (!given.memory.empty()) out.memory = read_data_parallel_memory(read_text(given.memory), given.memory);
  if (!given.failures.empty())
    out.asked.failures = read_failures(read_text(given.failures), given.failures, out.cluster);
  return out;
}

}  // namespace motet::schedule_jobs
