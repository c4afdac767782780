// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json_read.hpp>
#include <motet/jobs/emit/site.hpp>
#include <motet/jobs/files/trace.hpp>
#include <motet/meta/nearest.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace motet {

enum class job_event : std::uint8_t { submit, finish, progress, lost, back };
inline constexpr std::string_view job_event_names[] = {"submit", "finish", "progress", "lost", "back"};

// A job line is what somebody tells of a job or a node.
struct job_line {
  job_event event = job_event::submit;
  double time = -1;                // by the clock of who tells it; -1: not told
  traced_job job;                  // its name; of one that is submitted all but the times
  double deadline = -1;            // seconds from its submission; -1: none
  double left = -1, seconds = -1;  // iterations, and of an iteration; -1: not told
  std::int32_t node = 0;           // through the cluster
};

inline std::string place_of(const std::string& origin, isize line) {
  return sentence({origin, ", line ", line});
}

// Reads a line of JSON, an object with "event" and what belongs to it:
//   {"event": "submit", "job": "a", "model": "moe__2.4B", "batch": 256, "iterations": 9000, "kind": "a40", "devices": 4}
//   {"event": "progress", "job": "a", "left": 4000, "iteration_seconds": 1.4}
//   {"event": "finish", "job": "a"}
//   {"event": "lost", "node": "a40-3"}     {"event": "back", "node": "a40-3"}
// and perhaps "time", and "deadline" of a job. Throws MT-J40 and MT-F01, and as traces do for jobs that no
// cluster holds.
class job_line_reader {
 public:
  job_line_reader(const job_cluster& cluster, const job_site& site) : cluster_(&cluster) {
    std::int32_t node = 0;
    for (const site_kind& each : site.kinds)
      for (const std::string& host : each.hosts) nodes_.emplace(host, node++);
  }

  job_line read(std::string_view text, const std::string& origin, isize number) const {
    const std::string where = place_of(origin, number);
    const json from = read_json(text, where);
    if (!from.is_object()) fail(jobs_bad_line, where + ": got " + from.kind() + ", wanted an object");
    const fields of{from, where};
    job_line out;
    out.job.line = number;
    const std::string& event = of.text("event");
    const auto* const found = std::find(std::begin(job_event_names), std::end(job_event_names), event);
    if (found == std::end(job_event_names))
      fail(jobs_bad_line, where + ", event: " + std::string(not_among(event, job_event_names).view()));
    out.event = static_cast<job_event>(found - std::begin(job_event_names));
    if (from.find("time") != nullptr) out.time = of.real("time", 0, 1e15);
    switch (out.event) {
      case job_event::submit: {
        of.only({"event", "time", "job", "model", "batch", "iterations", "kind", "devices", "deadline"});
        out.job.id = name(of);
        out.job.model = of.text("model");
        out.job.batch = static_cast<isize>(of.whole("batch", 1, double(isize{1} << 40)));
        out.job.iterations = of.whole("iterations", 1, double(isize{1} << 50));
        out.job.kind = cluster_->find(of.text("kind"));
        if (out.job.kind < 0)
          fail(jobs_unknown_kind, where + ", kind: got \"" + of.text("kind") + "\", the cluster " +
                                      cluster_->name + " has " + cluster_->names());
        out.job.devices = static_cast<isize>(of.whole("devices", 1, double(isize{1} << 40)));
        const isize largest = cluster_->largest(out.job.kind);
        if (out.job.devices > largest || !std::has_single_bit(as_size(out.job.devices)))
          fail(jobs_too_large, sentence({where, ", devices: got ", out.job.devices,
                                         ", wanted a power of two, and at most ", largest}));
        if (from.find("deadline") != nullptr) out.deadline = of.real("deadline", 0, 1e15);
        break;
      }
      case job_event::progress:
        of.only({"event", "time", "job", "left", "iteration_seconds"});
        out.job.id = name(of);
        if (from.find("left") != nullptr) out.left = of.real("left", 0, 1e15);
        if (from.find("iteration_seconds") != nullptr) out.seconds = of.real("iteration_seconds", 1e-9, 1e9);
        break;
      case job_event::finish:
        of.only({"event", "time", "job"});
        out.job.id = name(of);
        break;
      case job_event::lost:
      case job_event::back: {
        of.only({"event", "time", "node"});
        const auto at = nodes_.find(of.text("node"));
        if (at == nodes_.end())
          fail(jobs_bad_line,
               where + ", node: got \"" + of.text("node") + "\", wanted a host of " + cluster_->name);
        out.node = at->second;
        break;
      }
    }
    return out;
  }

 private:
  struct fields {
    const json& from;
    const std::string& where;

    const json& at(const char* name) const {
      const json* const found = from.find(name);
      if (found == nullptr) fail(jobs_bad_line, where + ": has no \"" + name + "\"");
      return *found;
    }
    const std::string& text(const char* name) const {
      const json& of = at(name);
      if (!of.is_string())
        fail(jobs_bad_line, where + ", " + name + ": got " + of.kind() + ", wanted a text");
      return of.string();
    }
    double real(const char* name, double least, double most) const {
      const json& of = at(name);
      if (!of.is_number() || !(of.number() >= least && of.number() <= most))
        fail(jobs_bad_line, where + ", " + name + ": got " +
                                (of.is_number() ? "a number out of range" : of.kind()) +
                                ", wanted a number that is not negative");
      return of.number();
    }
    double whole(const char* name, double least, double most) const {
      const json& of = at(name);
      if (!of.is_integer() || !(of.number() >= least && of.number() <= most))
        fail(jobs_bad_line, where + ", " + name + ": got " +
                                (of.is_integer() ? "a number out of range" : of.kind()) +
                                ", wanted a whole number, at least 1");
      return of.number();
    }
    void only(std::initializer_list<std::string_view> names) const {
      for (const json::member each : from.members())
        if (std::find(names.begin(), names.end(), each.name) == names.end())
          fail(jobs_bad_line,
               where + ": " +
                   std::string(not_among(each.name, std::span(names.begin(), names.size())).view()));
    }
  };
  static std::string name(const fields& of) {
    require_job_name(of.text("job"));
    return of.text("job");
  }

  const job_cluster* cluster_;
  std::unordered_map<std::string, std::int32_t> nodes_;
};

}  // namespace motet
