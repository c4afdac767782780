// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/files/cluster.hpp>
#include <motet/jobs/files/columns.hpp>
#include <motet/jobs/messages.hpp>

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace motet {

// A job as it was submitted: when, how much work, of which model, and what its owner asked for.
struct traced_job {
  std::string id;
  double submitted = 0;   // seconds
  double iterations = 0;  // of the whole batch
  std::string model;      // a name and a size: moe__2.4B
  double deadline = 0;    // seconds, by the clock of `submitted`
  isize batch = 0;
  isize devices = 0;
  isize kind = 0;  // in the cluster
  isize line = 0;  // in which it stood
  template <class With>
  void remembers(With& with) {
    with("id", id);
    with("submitted", submitted);
    with("iterations", iterations);
    with("model", model);
    with("deadline", deadline);
    with("batch", batch);
    with("devices", devices);
    with("kind", kind);
    with("line", line);
  }
};

// A kind of device that traces name, and the kind of a cluster that stands for it.
struct kind_name {
  std::string in_trace, in_cluster;
};

struct job_trace {
  std::vector<traced_job> jobs;  // by the time of their submission
  std::string origin;            // named in refusals
  isize out_of_order = 0;        // jobs that stood behind a later one in the file
  isize first_out_of_order = 0;  // line of the first of them
};

// Reads jobs with the columns job_id, submission_time, num_iteration, model_name, deadline, batch_size,
// num_gpu and gpu_type, in any order. Jobs are sorted by the time of their submission, those of one time as
// they stand. Kinds of devices that `stand_in` names are taken as those of the cluster that it says. Throws
// MT-J01 to MT-J04 and MT-J06, each with line and column.
// Asks for: one job at least, of kinds that the cluster has.
// Memory: the jobs.
// Errors: MT-J01, MT-J02, MT-J03, MT-J04, MT-J06
// Example:
//   std::size_t jobs_in(std::string_view text, const job_cluster& lab) {
//     return read_job_trace(text, "jobs.csv", lab).jobs.size();
//   }
inline job_trace read_job_trace(std::string_view text, const std::string& origin, const job_cluster& cluster,
                                const std::vector<kind_name>& stand_in = {}) {
  enum column : std::size_t { id, time, iterations, model, deadline, batch, devices, kind };
  named_columns rows(text, origin,
                     {"job_id", "submission_time", "num_iteration", "model_name", "deadline", "batch_size",
                      "num_gpu", "gpu_type"});
  constexpr double most = 1e15;
  job_trace out;
  out.origin = origin;
  std::unordered_set<std::string> known;
  double latest = -most;
  while (rows.next()) {
    traced_job made;
    made.id = rows.name(id, "a name of the job");
    if (!known.insert(made.id).second)
      fail(jobs_row_twice, rows.where(id) + ": the job \"" + made.id + "\" stands in an earlier line, too");
    made.submitted = rows.real(time, 0, most, "seconds, not negative");
    made.iterations = static_cast<double>(
        rows.whole(iterations, 1, isize{1} << 50, "a whole number of iterations, at least 1"));
    made.model = rows.name(model, "a model, as in moe__2.4B");
    const std::size_t bar = made.model.find("__");
    if (bar == made.model.npos || bar == 0 || bar + 2 == made.model.size())
      rows.refuse(model, "a model and its size with two underscores between them, as in moe__2.4B");
    made.deadline = rows.real(deadline, 0, most, "seconds, not negative");
    made.batch = rows.whole(batch, 1, isize{1} << 40, "a whole number of samples, at least 1");
    const std::string& named = rows.name(kind, "a kind of device");
    const auto other = std::find_if(stand_in.begin(), stand_in.end(),
                                    [&](const kind_name& each) { return each.in_trace == named; });
    made.kind = cluster.find(other == stand_in.end() ? named : other->in_cluster);
    if (made.kind < 0)
      fail(jobs_unknown_kind, rows.where(kind) + ": got \"" + rows.text(kind) + "\", the cluster " +
                                  cluster.name + " has " + cluster.names());
    made.devices = rows.whole(devices, 1, isize{1} << 40, "a whole number of devices, at least 1");
    const isize largest = cluster.largest(made.kind);
    if (made.devices > largest || !std::has_single_bit(as_size(made.devices)))
      fail(jobs_too_large,
           sentence({rows.where(devices), ": got ", made.devices,
                     ", wanted a power of two; the largest job that ", cluster.name, " fits has ", largest,
                     " of its ", cluster.kinds[as_size(made.kind)].devices(), " ", rows.text(kind)}));
    if (made.submitted < latest && out.out_of_order++ == 0) out.first_out_of_order = rows.line();
    latest = std::max(latest, made.submitted);
    made.line = rows.line();
    out.jobs.push_back(std::move(made));
  }
  if (out.jobs.empty())
    fail(jobs_bad_cell, origin + " has no jobs behind its first line, wanted one at least");
  std::stable_sort(out.jobs.begin(), out.jobs.end(),
                   [](const traced_job& a, const traced_job& b) { return a.submitted < b.submitted; });
  return out;
}

}  // namespace motet
