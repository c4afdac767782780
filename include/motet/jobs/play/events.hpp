// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/files/failures.hpp>
#include <motet/jobs/play/change_cost.hpp>
#include <motet/jobs/play/outcome.hpp>
#include <motet/jobs/world/world.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace motet {

struct event_rules {
  double until = 0;           // seconds from the first submission; 0: until all is done
  double work_scale = 5;      // iterations of the trace for one that is simulated
  double deadline_scale = 5;  // of the time that the trace gives
  double far_deadline = 0;    // seconds from the submission, for all; 0: those of the trace
  state_costs state;
  std::optional<change_costs> flat{};  // where it is there, changes cost by devices, as published
  double checkpoint = 1800;            // seconds from one to the next while a job runs
  double bin = 300;                    // seconds of which each number of a curve is the mean
  bool record = false;                 // who had which devices, and when
};

// A cluster on which time goes on from event to event: jobs are submitted, end and lose their devices one at
// a time, each at its own time, and a policy is asked whenever something happened. What a job has done is the
// integral of its speed; while a change is under way its speed is zero.
//
// Who has a trace calls play(). Who hears of jobs and devices as they come calls move_to(), then submit(),
// fail_node() and repair_node() for all that happens at this time, and decide(); `ends()` says when the next
// job will be done.
class event_player {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  event_player(job_world& world, const event_rules& rules) : world_(world), rules_(rules) {
    world_.round = 0;
    world_.now = world_.traced.empty() ? 0 : world_.traced[0].submitted;
    begin_ = seen_ = world_.now;
    outcome_.began = begin_;
    progress_.resize(world_.jobs.size());
  }

  // The next job is done then, as things are.
  double ends() {
    while (!ends_.empty() && ends_.top().version != progress_[as_size(ends_.top().job)].version) ends_.pop();
    return ends_.empty() ? never : ends_.top().at;
  }
  // Time goes on, at most to `ends()`.
  void move_to(double time) {
    present_seconds_ += static_cast<double>(world_.running.size() + world_.waiting.size()) * (time - seen_);
    world_.now = seen_ = time;
    for (const std::int32_t job : world_.running) {
      settle(job);
      learn(job);
    }
    for (const std::int32_t job : world_.waiting) settle_waiting(job);
    while (ends() <= time) end(ends_.top().job);
  }
  // A job that nobody knew before is submitted now. Throws MT-J05.
  std::int32_t submit(const traced_job& from, const std::string& origin) {
    const std::int32_t job = world_.add(from, origin);
    progress_.resize(world_.jobs.size());
    arrive(job);
    return job;
  }
  // A node, or one of its devices, fails now. Who used what failed falls back to the last checkpoint; who ran
  // beside it on the node is taken off with all that it has done.
  void fail_node(std::int32_t node, std::int32_t device = -1) {
    occupancy& places = world_.places;
    if (places.is_broken(node)) return;
    ++outcome_.failures;
    const std::int32_t first = places.first_device(node), size = places.per_node(places.kind_of(node));
    const std::int32_t hit = device < 0 ? -1 : places.owner_of(first + device % size);
    std::vector<std::int32_t> hurt;
    for (std::int32_t d = first; d < first + size; ++d)
      if (const occupancy::owner who = places.owner_of(d); job_world::is_job(who)) hurt.push_back(who);
    std::sort(hurt.begin(), hurt.end(), std::greater<>());
    hurt.erase(std::unique(hurt.begin(), hurt.end()), hurt.end());
    for (const std::int32_t job : hurt) {
      if (device < 0 || job == hit) fall_back(job);
      leave_devices(job);
      places.release(job);
      world_.lose(job);
      progress_[as_size(job)].waits_since = world_.now;
      events_.lost.push_back(job);
      ++outcome_.lost;
    }
    places.take_out(node);
  }
  void repair_node(std::int32_t node) {
    if (!world_.places.is_broken(node)) return;
    world_.places.bring_back(node);
    events_.repaired = true;
  }
  // Asks the policy about all that happened since it was asked last, and does what it says. Throws MT-J11.
  template <job_policy Policy>
  void decide(Policy& policy) {
    job_events events = std::move(events_);
    events_ = {};
    policy.on_events(world_, events);
    follow();
  }

  template <job_policy Policy>
  job_outcome play(Policy& policy, failure_stream failures = failure_stream(std::vector<machine_failure>{})) {
    const double stop = rules_.until > 0 ? begin_ + rules_.until : never;
    std::size_t next = 0;
    double wakes = never;
    while (true) {
      const double arrives = next < world_.traced.size() ? world_.traced[next].submitted : never;
      const double repaired = repairs_.empty() ? never : repairs_.top().first;
      const double ended = ends();
      double time = std::min({arrives, ended, repaired, wakes});
      if (time == never) break;  // nothing happens any more but failures
      time = std::min(time, begin_ + failures.next());
      if (time > stop) break;
      move_to(time);
      while (begin_ + failures.next() <= time) {
        const machine_failure each = failures.take();
        if (world_.places.is_broken(each.node)) continue;
        fail_node(each.node, each.device);
        repairs_.emplace(time + each.repair, each.node);
      }
      while (!repairs_.empty() && repairs_.top().first <= time) {
        repair_node(repairs_.top().second);
        repairs_.pop();
      }
      for (; next < world_.traced.size() && world_.traced[next].submitted <= time; ++next)
        arrive(static_cast<std::int32_t>(next));
      decide(policy);
      wakes = never;
      if constexpr (requires { policy.wakes(world_); })
        wakes = std::max(policy.wakes(world_), time + least_sleep);
    }
    if (stop != never) move_to(stop);
    return outcome();
  }

  // Returns what came of it up to now; nothing can be played afterwards.
  job_outcome outcome() {
    for (const std::int32_t job : world_.running) {
      count_devices(job);
      leave(job, false);
    }
    for (const std::int32_t job : world_.waiting) leave(job, true);
    outcome_.lasted = world_.now - begin_;
    outcome_.bin = rules_.bin;
    const auto bins = static_cast<std::size_t>(std::ceil(outcome_.lasted / rules_.bin));
    for (std::vector<double>* each : {&outcome_.throughput, &outcome_.queue, &outcome_.busy})
      each->resize(bins);
    const auto all = static_cast<double>(world_.places.devices());
    for (double& each : outcome_.busy) each /= all;
    for (device_span& each : outcome_.spans)
      if (each.to < 0) each.to = outcome_.lasted;
    return std::move(outcome_);
  }

 private:
  // The progress of a job is known at one time; from then on it goes on at one speed.
  struct job_progress {
    double left = 0, ran = 0, waited = 0;  // when the devices, or the queue, were entered
    double since = 0;                      // when the devices were given
    double seconds = 0;                    // of an iteration
    double waits_since = 0;
    double present = 0;  // jobs that were there, times seconds, when it was submitted
    bool placed = false, started = false, told = false;
    std::int32_t devices = 0;
    std::uint32_t version = 0;
  };
  struct job_end {
    double at;
    std::int32_t job;
    std::uint32_t version;
    friend bool operator>(const job_end& a, const job_end& b) {
      return a.at != b.at ? a.at > b.at : a.job > b.job;
    }
  };

  void arrive(std::int32_t number) {
    job_state& job = world_.of(number);
    const traced_job& from = world_.traced[as_size(number)];
    job_progress& own = progress_[as_size(number)];
    job.submitted = world_.now;
    job.deadline =
        world_.now + (rules_.far_deadline > 0 ? rules_.far_deadline
                                              : (from.deadline - from.submitted) * rules_.deadline_scale);
    job.work = job.left = own.left = from.iterations / rules_.work_scale;
    own.waits_since = world_.now;
    own.present = present_seconds_;
    events_.arrived.push_back(number);
    ++outcome_.submitted;
  }

  void settle(std::int32_t number) {
    const job_progress& own = progress_[as_size(number)];
    job_state& job = world_.of(number);
    job.left = own.left - std::max(0.0, world_.now - job.resumes) / own.seconds;
    job.ran = own.ran + (world_.now - own.since);
    job.pause = std::max(0.0, job.resumes - world_.now);
    job.paused = job.pause > 0;
  }
  // A job that did an iteration with what it has tells how long it took.
  void learn(std::int32_t number) {
    job_progress& own = progress_[as_size(number)];
    if (own.told || world_.now - world_.of(number).resumes < own.seconds) return;
    own.told = true;
    world_.learn(world_.of(number));
  }
  void settle_waiting(std::int32_t number) {
    const job_progress& own = progress_[as_size(number)];
    world_.of(number).waited = own.waited + (world_.now - own.waits_since);
  }
  // A job goes from the queue to devices.
  void leave_queue(std::int32_t number) {
    job_progress& own = progress_[as_size(number)];
    settle_waiting(number);
    own.waited = world_.of(number).waited;
    add(outcome_.queue, own.waits_since, world_.now, 1);
  }
  void count_devices(std::int32_t number) {
    const job_progress& own = progress_[as_size(number)];
    const job_state& job = world_.of(number);
    add(outcome_.busy, own.since, world_.now, own.devices);
    const double samples =
        static_cast<double>(world_.speeds.shapes()[as_size(job.shape)].batch) / own.seconds;
    add(outcome_.throughput, std::min(job.resumes, world_.now), world_.now, samples);
  }
  // A job goes from devices to the queue, to others, or to the end: what it has done stands in its state.
  void leave_devices(std::int32_t number) {
    job_progress& own = progress_[as_size(number)];
    const job_state& job = world_.of(number);
    count_devices(number);
    own.left = job.left;
    own.ran = job.ran;
    own.placed = false;
    ++own.version;
  }
  void fall_back(std::int32_t number) {
    const job_progress& own = progress_[as_size(number)];
    job_state& job = world_.of(number);
    const double done = std::max(0.0, world_.now - job.resumes);
    const double saved =
        rules_.checkpoint > 0 ? std::floor(done / rules_.checkpoint) * rules_.checkpoint : done;
    job.left = own.left - saved / own.seconds;
    outcome_.redone += done - saved;
  }
  void end(std::int32_t number) {
    job_state& job = world_.of(number);
    job.left = 0;
    leave_devices(number);
    world_.finish(number, world_.now);
    world_.places.release(number);
    events_.ended.push_back(number);
    const double took = world_.now - job.submitted;
    outcome_.finished.push_back(took);
    outcome_.ended.push_back(number);
    outcome_.waited.push_back(job.waited);
    outcome_.in_time += world_.now <= job.deadline ? 1 : 0;
    outcome_.unfairness.push_back(took / std::max(fair_seconds(number, took), 1e-9));
  }
  // A job would take so long as it was asked for, with an equal share of the cluster among all who were
  // there.
  double fair_seconds(std::int32_t number, double took) const {
    const job_state& job = world_.of(number);
    const traced_job& from = world_.traced[as_size(number)];
    const double there = (present_seconds_ - progress_[as_size(number)].present) / std::max(took, 1e-9);
    const double share = static_cast<double>(world_.places.devices()) / std::max(there, 1.0);
    const double alone =
        from.iterations / rules_.work_scale * world_.actual().best_seconds(job.shape, job.asked);
    return alone * std::max(1.0, static_cast<double>(from.devices) / share);
  }

  // Charges what the policy changed.
  void follow() {
    world_.require_places(begin_);
    std::vector<occupancy::change> changes = world_.places.changes(0);
    touched_.clear();
    for (const occupancy::change& each : changes) {
      const occupancy::owner who = world_.places.owner_of(each.device);
      if (rules_.record && each.had != who) record(each.device, who);
      for (const occupancy::owner one : {each.had, who})
        if (each.had != who && job_world::is_job(one)) touched_.push_back(one);
    }
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const std::int32_t job : touched_) {
      const bool runs = world_.of(job).status == job_status::running;
      job_progress& own = progress_[as_size(job)];
      if (!runs) {
        if (!own.placed) continue;
        leave_devices(job);
        own.waits_since = world_.now;
      } else {
        const double cost = cost_of(job, changes);
        if (own.placed) leave_devices(job);
        else leave_queue(job);
        begin(job, cost);
      }
    }
    world_.places.settle();
  }
  void begin(std::int32_t number, double cost) {
    job_progress& own = progress_[as_size(number)];
    job_state& job = world_.of(number);
    own.placed = own.started = true;
    own.told = false;
    own.since = world_.now;
    own.devices = job.has.devices;
    own.seconds = world_.actual().best_seconds(job.shape, job.has);
    job.resumes = world_.now + cost;
    settle(number);
    ++job.changes;
    ++outcome_.reschedules;
    ends_.push({job.resumes + own.left * own.seconds, number, own.version});
  }
  double cost_of(std::int32_t number, const std::vector<occupancy::change>& changes) const {
    const job_state& job = world_.of(number);
    const job_progress& own = progress_[as_size(number)];
    if (rules_.flat) return rules_.flat->seconds(job.has.devices);
    if (!own.started) return rules_.state.restart;
    const double parameters = iteration_times::parameters(world_.speeds.shapes()[as_size(job.shape)].size);
    if (!own.placed) return rules_.state.load_seconds(parameters, job.has.nodes());
    const occupancy& places = world_.places;
    std::vector<std::int32_t> from, to;
    for (const occupancy::piece& each : places.pieces(number)) {
      const std::int32_t first = places.first_device(each.node), size = places.per_node(job.has.kind);
      for (std::int32_t d = first; d < first + size; ++d)
        if (places.owner_of(d) == number) to.push_back(d);
    }
    from = to;
    for (const occupancy::change& each : changes) {
      if (each.had == number && places.owner_of(each.device) != number) from.push_back(each.device);
      if (each.had != number && places.owner_of(each.device) == number)
        from.erase(std::find(from.begin(), from.end(), each.device));
    }
    std::sort(from.begin(), from.end());
    return rules_.state.move_seconds(parameters, from, to,
                                     [&](std::int32_t device) { return places.node_of(device); });
  }

  // Adds a rate over a time to the means of bins.
  void add(std::vector<double>& bins, double from, double to, double rate) const {
    from -= begin_, to -= begin_;
    if (!(to > from)) return;
    const auto last = static_cast<std::size_t>(to / rules_.bin);
    if (bins.size() <= last) bins.resize(last + 1);
    for (auto b = static_cast<std::size_t>(from / rules_.bin); b <= last; ++b) {
      const double begins = static_cast<double>(b) * rules_.bin;
      bins[b] += rate * (std::min(to, begins + rules_.bin) - std::max(from, begins)) / rules_.bin;
    }
  }
  void record(std::int32_t device, occupancy::owner who) {
    open_.resize(as_size(world_.places.devices()), -1);
    std::int32_t& open = open_[as_size(device)];
    if (open >= 0) outcome_.spans[as_size(open)].to = world_.now - begin_;
    open = -1;
    if (!job_world::is_job(who)) return;
    open = static_cast<std::int32_t>(outcome_.spans.size());
    outcome_.spans.push_back({who, device, world_.now - begin_, -1});
  }
  void leave(std::int32_t number, bool waits) {
    if (waits) add(outcome_.queue, progress_[as_size(number)].waits_since, world_.now, 1);
    outcome_.waited.push_back(world_.of(number).waited);
    outcome_.unfinished.push_back(world_.now - world_.of(number).submitted);
  }

  static constexpr double least_sleep = 1;  // seconds: no policy is woken again at once
  job_world& world_;
  event_rules rules_;
  job_outcome outcome_;
  job_events events_;
  std::vector<job_progress> progress_;
  std::priority_queue<job_end, std::vector<job_end>, std::greater<>> ends_;
  std::priority_queue<std::pair<double, std::int32_t>, std::vector<std::pair<double, std::int32_t>>,
                      std::greater<>>
      repairs_;  // when, and of which node
  std::vector<std::int32_t> touched_;
  std::vector<std::int32_t> open_;  // of each device, the span that has not ended
  double begin_ = 0, seen_ = 0;
  double present_seconds_ = 0;  // jobs that are there, times seconds
};

}  // namespace motet
