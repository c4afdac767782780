// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/json_write.hpp>
#include <motet/jobs/policies/policies.hpp>
#include <motet/jobs/watch/job_line.hpp>
#include <motet/jobs/watch/kept_world.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace motet {

// A policy whatever its type, as one is chosen by name, and what it remembers.
struct live_policy {
  std::function<void(job_world&, const job_events&)> on_events;
  std::function<double(const job_world&)> wakes;
  std::function<json()> keep;
  std::function<void(const json&)> read_back;
};
live_policy live_policy_of(const policy_question& asked);

#if !defined(MOTET_COMPILED_PLANNER)
MOTET_BODY live_policy live_policy_of(const policy_question& asked) {
  live_policy out;
  with_policy(asked, [&](auto chosen) {
    auto policy = std::make_shared<decltype(chosen)>(std::move(chosen));
    out.on_events = [policy](job_world& world, const job_events& events) {
      policy->on_events(world, events);
    };
    out.wakes = [policy](const job_world& world) {
      if constexpr (requires { policy->wakes(world); }) return policy->wakes(world);
      else return static_cast<void>(world), std::numeric_limits<double>::infinity();
    };
    out.keep = [policy] { return kept(*policy); };
    out.read_back = [policy](const json& from) { read_back(from, *policy); };
  });
  return out;
}
#endif

enum class job_change_kind : std::uint8_t { stop, move, start, drop };
struct job_change {
  job_change_kind what;
  std::int32_t job;
};

// A cluster as it is told, line by line: jobs end when somebody says so, not when they should. Each line is
// one decision; what it changes follows from all lines before it and their times, and from nothing else. So
// who reads the same lines again is in the same state, and so is who reads back what was kept between them.
class live_cluster {
 public:
  live_cluster(job_world& world, live_policy policy, double far_deadline = 0)
      : world_(world), policy_(std::move(policy)), far_deadline_(far_deadline) {
    world_.round = 0;
  }

  // Takes a line at a time, which is not before the last one, and lets the policy decide. Throws MT-J41 and
  // MT-J05, and nothing is changed; MT-J11 where the policy has an error.
  std::vector<job_change> take(const job_line& line, double time, const std::string& origin) {
    const std::string where = place_of(origin, line.job.line);
    const std::int32_t known = find(line.job.id);
    switch (line.event) {
      case job_event::submit:
        if (known >= 0)
          fail(jobs_line_untrue, where + ": the job \"" + line.job.id + "\" was submitted before");
        // Refuses what the times do not know, before anything is changed.
        world_.speeds.shape_of(line.job, origin);
        break;
      case job_event::finish:
      case job_event::progress:
        if (known < 0 || !is_there(as_size(known)))
          fail(jobs_line_untrue, where + ": the job \"" + line.job.id + "\" is " +
                                     (known < 0 ? "not known" : "not there any more"));
        break;
      case job_event::lost:
        if (world_.places.is_broken(line.node)) fail(jobs_line_untrue, where + ": the node is lost already");
        break;
      case job_event::back:
        if (!world_.places.is_broken(line.node)) fail(jobs_line_untrue, where + ": the node was not lost");
        break;
    }
    move_to(time);
    switch (line.event) {
      case job_event::submit: submit(line, origin); break;
      case job_event::finish: finish(known); break;
      case job_event::progress: progress(known, line); break;
      case job_event::lost: lose(line.node); break;
      case job_event::back:
        world_.places.bring_back(line.node);
        events_.repaired = true;
        break;
    }
    return decide();
  }
  // The policy wants to be asked at wakes() at the latest though nothing happens; wake() asks it.
  double wakes() const { return wakes_; }
  std::vector<job_change> wake(double time) {
    move_to(time);
    return decide();
  }

  const job_world& world() const { return world_; }

  // All that decisions follow from, between two of them.
  json keep() {
    json progress{json::array{}};
    for (std::size_t j = 0; j < progress_.size(); ++j)
      if (is_there(j)) progress.push_back(kept(progress_[j]));
    return {{"world", kept_world(world_)},
            {"progress", std::move(progress)},
            {"wakes", kept(wakes_)},
            {"policy", policy_.keep()}};
  }
  // Called before anything was taken. Throws MT-F02 and MT-J05 where this was kept of something else.
  void read_back(const json& from) {
    read_world_back(from.at("world"), world_);
    motet::read_back(from.at("wakes"), wakes_);
    policy_.read_back(from.at("policy"));
    progress_.resize(world_.jobs.size());
    auto row = from.at("progress").items().begin();
    for (std::size_t j = 0; j < progress_.size(); ++j) {
      numbers_.emplace(world_.traced[j].id, static_cast<std::int32_t>(j));
      if (is_there(j)) motet::read_back(*row++, progress_[j]);
    }
  }

 private:
  struct progress_of {
    double left = 0, seconds = 0, since = 0;  // iterations, and of one, when it was told or placed last
    bool placed = false;
    template <class With>
    void remembers(With& with) {
      with("left", left);
      with("seconds", seconds);
      with("since", since);
      with("placed", placed);
    }
  };
  bool is_there(std::size_t job) const {
    const job_status how = world_.jobs[job].status;
    return how == job_status::running || how == job_status::waiting;
  }
  std::int32_t find(const std::string& id) const {
    const auto at = numbers_.find(id);
    return at == numbers_.end() ? -1 : at->second;
  }
  void move_to(double time) {
    const double passed = time - world_.now;
    world_.now = time;
    for (const std::int32_t job : world_.running) {
      world_.of(job).ran += passed;
      settle(job);
    }
    for (const std::int32_t job : world_.waiting) world_.of(job).waited += passed;
  }
  // Until somebody says that it is done there is something left.
  void settle(std::int32_t job) {
    const progress_of& own = progress_[as_size(job)];
    world_.of(job).left = std::max(own.left - (world_.now - own.since) / own.seconds, 1.0);
  }
  void submit(const job_line& line, const std::string& origin) {
    traced_job from = line.job;
    from.submitted = world_.now;
    from.deadline = world_.now + (far_deadline_ > 0    ? far_deadline_
                                  : line.deadline >= 0 ? line.deadline
                                                       : 1e9);
    const std::int32_t job = world_.add(from, origin);
    numbers_.emplace(from.id, job);
    progress_.push_back({from.iterations});
    job_state& state = world_.of(job);
    state.submitted = world_.now;
    state.deadline = from.deadline;
    state.work = state.left = from.iterations;
    events_.arrived.push_back(job);
  }
  void finish(std::int32_t job) {
    // Who waits may be taken back, too: others stood behind it.
    events_.ended.push_back(job);
    if (world_.of(job).status == job_status::waiting) {
      world_.drop(job);
      world_.of(job).status = job_status::finished;
      return;
    }
    world_.finish(job, world_.now);
    world_.of(job).left = 0;
    world_.places.release(job);
    progress_[as_size(job)].placed = false;
  }
  void progress(std::int32_t job, const job_line& line) {
    job_state& state = world_.of(job);
    progress_of& own = progress_[as_size(job)];
    if (line.left >= 0) state.left = std::max(line.left, 1.0);
    if (state.status != job_status::running) {
      state.work = state.left;
      own.left = state.left;
      return;
    }
    if (line.seconds > 0) {
      world_.speeds.learn(state.shape, state.has, line.seconds);
      own.seconds = line.seconds;
    }
    own.left = state.left;
    own.since = world_.now;
  }
  // Jobs that ran there wait before all others; the node is out as a whole.
  void lose(std::int32_t node) {
    occupancy& places = world_.places;
    const std::int32_t first = places.first_device(node),
                       last = first + places.per_node(places.kind_of(node));
    std::vector<std::int32_t> hurt;
    for (std::int32_t device = first; device < last; ++device)
      if (const occupancy::owner who = places.owner_of(device); job_world::is_job(who)) hurt.push_back(who);
    std::sort(hurt.begin(), hurt.end(), std::greater<>());
    hurt.erase(std::unique(hurt.begin(), hurt.end()), hurt.end());
    for (const std::int32_t job : hurt) {
      places.release(job);
      world_.lose(job);
      events_.lost.push_back(job);
    }
    places.take_out(node);
  }

  std::vector<job_change> decide() {
    const job_events events = std::exchange(events_, {});
    policy_.on_events(world_, events);
    world_.require_places(0);
    std::vector<std::int32_t> touched = events.arrived;
    for (const occupancy::change& each : world_.places.changes(0))
      for (const occupancy::owner one : {each.had, world_.places.owner_of(each.device)})
        if (job_world::is_job(one)) touched.push_back(one);
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    world_.places.settle();
    std::vector<job_change> out;
    for (const std::int32_t job : touched) {
      job_state& state = world_.of(job);
      progress_of& own = progress_[as_size(job)];
      if (state.status == job_status::running) {
        out.push_back({own.placed ? job_change_kind::move : job_change_kind::start, job});
        own = {state.left, world_.speeds.best_seconds(state.shape, state.has), world_.now, true};
        state.resumes = world_.now;
        ++state.changes;
      } else if (state.status == job_status::dropped) {
        out.push_back({job_change_kind::drop, job});
      } else if (own.placed) {
        out.push_back({job_change_kind::stop, job});
        own.placed = false;
        own.left = state.left;
      }
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const job_change& a, const job_change& b) { return a.what < b.what; });
    wakes_ = policy_.wakes(world_);
    // Nobody is woken again at once.
    if (std::isfinite(wakes_)) wakes_ = std::max(wakes_, world_.now + 1);
    return out;
  }

  job_world& world_;
  live_policy policy_;
  double far_deadline_;
  double wakes_ = std::numeric_limits<double>::infinity();
  job_events events_;
  std::vector<progress_of> progress_;
  std::unordered_map<std::string, std::int32_t> numbers_;
};

// A change as a line of JSON without its end: what to do with which job, on which devices of which hosts.
inline std::string change_line(const job_change& change, isize number, const job_world& world,
                               const job_site& site) {
  constexpr const char* names[] = {"stop", "move", "start", "drop"};
  json out{{"change", number},
           {"time", world.now},
           {"do", names[static_cast<std::size_t>(change.what)]},
           {"job", world.traced[as_size(change.job)].id}};
  if (change.what == job_change_kind::start || change.what == job_change_kind::move) {
    const job_cluster& cluster = world.speeds.cluster();
    const allotment& has = world.jobs[as_size(change.job)].has;
    out.set("kind", cluster.kinds[as_size(has.kind)].kind);
    out.set("devices", has.devices);
    json on{json::array{}};
    for (const occupancy::piece& each : world.places.pieces(change.job)) {
      json devices{json::array{}};
      const std::int32_t first = world.places.first_device(each.node);
      for (std::int32_t d = 0; d < world.places.per_node(has.kind); ++d)
        if (world.places.owner_of(first + d) == change.job) devices.push_back(d);
      on.push_back(json{{"host", site.host(cluster, each.node)}, {"devices", std::move(devices)}});
    }
    out.set("on", std::move(on));
  }
  return write_json(out);
}

}  // namespace motet
