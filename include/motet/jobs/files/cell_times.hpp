// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/files/cluster.hpp>
#include <motet/jobs/files/times.hpp>
#include <motet/jobs/files/trace.hpp>
#include <motet/jobs/messages.hpp>
#include <motet/plan/cells/search_cells.hpp>
#include <motet/plan/files/model_json.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// A model that jobs train, by the name that traces have for it: moe__2.4B.
struct job_model {
  std::string name;
  model_shape shape;
};

// Reads {"moe__2.4B": {a model as in docs/plan/model_file.md}, ...}. Throws MT-J20 and what models throw.
inline std::vector<job_model> read_job_models(std::string_view text, const std::string& origin) {
  const json file = read_json(text, origin);
  if (!file.is_object())
    fail(jobs_bad_models, origin + ": got " + file.kind() + ", wanted an object of models");
  std::vector<job_model> out;
  for (const json::member each : file.members()) {
    const std::string name(each.name);
    const std::size_t bar = name.find("__");
    if (bar == name.npos || iteration_times::parameters(std::string_view(name).substr(bar + 2)) < 0)
      fail(jobs_bad_models, origin + ": got \"" + name + "\", wanted a name and a size, as in moe__2.4B");
    try {
      out.push_back({name, read_model(each.value)});
    } catch (const error& problem) {
      throw error(problem, origin + ", " + name);
    }
  }
  if (out.empty()) fail(jobs_bad_models, origin + " has no models, wanted one at least");
  return out;
}

// The device and the wires of a kind, with its own nodes and memory. Throws MT-J21 where nobody knows them.
inline cluster_facts facts_of(const device_group& of) {
  const std::string& name = of.like.empty() ? of.kind : of.like;
  const cluster_facts* const known = find_cluster(name);
  if (known == nullptr) {
    std::string all;
    for (const cluster_facts& each : known_clusters)
      all += (all.empty() ? "" : ", ") + std::string(each.name.view());
    fail(jobs_unknown_device, "got \"" + name + "\" for the kind " + of.kind + ", there are " + all);
  }
  cluster_facts out = *known;
  out.nodes = static_cast<std::int32_t>(of.nodes);
  out.devices_per_node = static_cast<std::int32_t>(of.per_node);
  out.device.memory_bytes = of.memory_gb * 1e9;
  return out;
}

// Seconds of an iteration as the cells of jobs tell them: of each number of devices of a kind the stages that
// take least, since stages cost nobody else anything. Who measured none of it plans by this, with bars.
class cell_times {
 public:
  // A row for each model and batch of the trace, kind, and number of devices; where none of the cells runs,
  // it says so. Throws MT-J05 for a model that is not among `models`.
  cell_times(const job_cluster& cluster, const job_trace& trace, const std::vector<job_model>& models,
             const cell_options& options = {}) {
    for (const traced_job& job : trace.jobs) {
      if (std::any_of(done_.begin(), done_.end(),
                      [&](const auto& each) { return each.first == job.model && each.second == job.batch; }))
        continue;
      done_.emplace_back(job.model, job.batch);
      const auto known = std::find_if(models.begin(), models.end(),
                                      [&](const job_model& each) { return each.name == job.model; });
      if (known == models.end()) {
        std::string all;
        for (const job_model& each : models) all += (all.empty() ? "" : ", ") + each.name;
        fail(jobs_unknown_model, "got \"" + job.model + "\", the models are " + all);
      }
      for (std::size_t k = 0; k < cluster.kinds.size(); ++k)
        add(*known, job.batch, cluster.kinds[k],
            static_cast<std::int32_t>(cluster.largest(static_cast<isize>(k))), options);
    }
  }

  const iteration_times& times() const { return times_; }
  // The cell behind a time, with the plan that stands for it; null where none runs.
  struct timed_cell {
    std::string model, kind;
    isize batch = 0;
    cell_row row;
  };
  const cell_row* find(std::string_view model, isize batch, std::string_view kind, isize devices) const {
    for (const timed_cell& each : cells_)
      if (each.model == model && each.batch == batch && each.kind == kind && each.row.cell.devices == devices)
        return &each.row;
    return nullptr;
  }

 private:
  void add(const job_model& of, isize batch, const device_group& kind, std::int32_t most,
           const cell_options& options) {
    const cluster_facts facts = facts_of(kind);
    cell_options asked = options;
    asked.bytes = facts.bytes;
    asked.limits.devices = std::min(options.limits.devices, most);
    const std::size_t bar = of.name.find("__");
    const std::vector<cell_row> rows = search_cells(of.shape, facts, batch, asked);
    for (std::int32_t n = 1; n <= asked.limits.devices; n *= 2) {
      const cell_row* best = nullptr;
      for (const cell_row& each : rows)
        if (each.cell.devices == n && each.runs &&
            (best == nullptr || each.gives.step_seconds.value < best->gives.step_seconds.value))
          best = &each;
      const isize per_node = std::min<isize>(n, kind.per_node);
      measured_time made{-1, 0};
      if (best != nullptr) {
        made.seconds = best->gives.step_seconds.value;
        made.bar = best->gives.step_seconds.bar;
        cells_.push_back({of.name, kind.kind, batch, *best});
      }
      times_.add({of.name.substr(0, bar), of.name.substr(bar + 2), batch, kind.kind, n / per_node, per_node},
                 made);
    }
  }

  iteration_times times_;
  std::vector<timed_cell> cells_;
  std::vector<std::pair<std::string, isize>> done_;
};

}  // namespace motet
