// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/files/cluster.hpp>
#include <motet/jobs/files/trace.hpp>
#include <motet/jobs/messages.hpp>
#include <motet/jobs/world/occupancy.hpp>
#include <motet/jobs/world/speeds.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace motet {

enum class job_status : std::uint8_t { unknown, waiting, running, finished, dropped };

// A job as policies and the simulator see it.
struct job_state {
  isize shape = 0;  // in the table of speeds: model, size and batch
  double submitted = 0, deadline = 0;
  double work = 0;     // iterations in all, or what was left when it was last suspended
  double left = 0;     // iterations
  double ran = 0;      // seconds on devices
  double waited = 0;   // seconds
  double pause = 0;    // seconds of a change that is not over
  double resumes = 0;  // when the last change is over
  double ended = 0;
  double first_started = -1;
  allotment asked;  // by its owner
  allotment has;    // or would have: what it was given last, or asked for
  job_status status = job_status::unknown;
  bool paused = false;  // by a change that takes longer than a round
  isize changes = 0;    // how often it was started, moved or resized
  template <class With>
  void remembers(With& with) {
    with("shape", shape);
    with("submitted", submitted);
    with("deadline", deadline);
    with("work", work);
    with("left", left);
    with("ran", ran);
    with("waited", waited);
    with("pause", pause);
    with("resumes", resumes);
    with("first_started", first_started);
    with("asked", asked);
    with("has", has);
    with("status", status);
    with("paused", paused);
    with("changes", changes);
  }
};

// Events are what happened since a policy was asked last.
struct job_events {
  std::vector<std::int32_t> ended{};  // or were taken back while they waited
  std::vector<std::int32_t> arrived{};
  std::vector<std::int32_t> lost{};  // ran on a node that failed; they wait, before all others
  bool repaired = false;             // a node is there again
  // Says whether a job may find room that found none before.
  bool frees() const { return !ended.empty() || !lost.empty() || repaired; }
};

// The world is what a policy sees and changes: devices, jobs and queues. The policy gives devices by
// `places`, and says who runs by start() and suspend(). Jobs that run, and jobs that wait, stand in the order
// in which they began to. The world grows by jobs one at a time, whose numbers rise by the time of their
// submission.
class job_world {
 public:
  job_world(const job_cluster& of, const iteration_times& times, const data_parallel_memory& memory,
            const speed_rules& rules)
      : places(of, 0), speeds(of, times, memory, rules) {
    if (!(rules.noise > 0)) return;
    speed_rules exact = rules;
    exact.noise = 0;
    actual_.emplace(of, times, memory, exact);
  }
  // This one has all jobs of a trace from the beginning.
  job_world(const job_cluster& of, const job_trace& from, const iteration_times& times,
            const data_parallel_memory& memory, const speed_rules& rules)
      : job_world(of, times, memory, rules) {
    for (const traced_job& each : from.jobs) add(each, from.origin);
  }

  occupancy places;
  speed_table speeds;              // as policies know them
  std::vector<traced_job> traced;  // of each job, how it was submitted
  std::vector<job_state> jobs;
  std::vector<std::int32_t> running, waiting;
  double now = 0;
  double round =
      300;  // seconds after which a policy is asked at the latest; 0 where it is asked at each event

  // The number of a job that nobody knew before. Throws MT-J05 with the place in `origin` where it stands.
  std::int32_t add(const traced_job& from, const std::string& origin) {
    job_state made;
    made.shape = speeds.shape_of(from, origin);
    if (actual_) actual_->shape_of(from, origin);
    made.asked = made.has = speeds.packed(from.kind, from.devices);
    jobs.push_back(made);
    traced.push_back(from);
    places.add_jobs(1);
    return static_cast<std::int32_t>(jobs.size()) - 1;
  }
  // Jobs are so fast, which is other than policies know it where estimates are wrong.
  const speed_table& actual() const { return actual_ ? *actual_ : speeds; }
  // A job did an iteration with what it has: how long one takes is known from now on.
  void learn(const job_state& of) { speeds.learn(of.shape, of.has, actual().best_seconds(of.shape, of.has)); }
  // Says whether a job ends before its deadline with such devices, as far as it is known.
  bool ends_in_time(const job_state& job, const allotment& as) const {
    const double seconds = speeds.best_seconds(job.shape, as);
    const bool fresh = now - job.submitted <= round;
    const double change = fresh ? std::min(10.0 * job.has.devices, 40.0) : job.paused ? job.pause : 0;
    return seconds < 1e9 && now + change + round + std::trunc(job.left * seconds) <= job.deadline;
  }
  static bool is_job(occupancy::owner who) { return who >= 0; }

  job_state& of(std::int32_t job) { return jobs[as_size(job)]; }
  const job_state& of(std::int32_t job) const { return jobs[as_size(job)]; }

  // A job is there now; where it has no devices, it would have these.
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
  // The node that it ran on failed.
  void lose(std::int32_t job) {
    leave(running, job);
    waiting.insert(waiting.begin(), job);
    of(job).status = job_status::waiting;
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
  // Throws MT-J11 where devices and queues differ: `begin` is when time began.
  void require_places(double begin) const {
    std::int32_t held = 0, used = 0;
    for (const std::int32_t job : running) {
      if (places.pieces(job).empty() || placed(job) != of(job).has) broken(job, "runs", begin);
      held += places.devices_of(job);
    }
    for (std::int32_t kind = 0; kind < places.kinds(); ++kind)
      used += places.usable_of(kind) - places.free_of(kind);
    if (held == used) return;
    for (const std::int32_t job : waiting)
      if (!places.pieces(job).empty()) broken(job, "waits", begin);
    fail(jobs_policy_broke, sentence({"at second ", now - begin, " ", used,
                                      " devices are in use, and those who run have ", held}));
  }

 private:
  std::optional<speed_table> actual_;
  [[noreturn]] void broken(std::int32_t job, const char* does, double begin) const {
    fail(jobs_policy_broke, sentence({"at second ", now - begin, " the job ", traced[as_size(job)].id, " ",
                                      does, " with ", places.devices_of(job), " devices"}));
  }
  static void leave(std::vector<std::int32_t>& queue, std::int32_t job) {
    const auto at = std::find(queue.begin(), queue.end(), job);
    if (at != queue.end()) queue.erase(at);
  }
};

// A policy decides: it is told what happened, and gives, takes and moves devices. What it knows from one
// event to the next it lists by remembers(with), which calls with("name", member) for each such member.
template <class Policy>
concept job_policy =
    requires(Policy& policy, job_world& world, const job_events& events) { policy.on_events(world, events); };

}  // namespace motet
