// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/policies/assignment.hpp>
#include <motet/jobs/world/placing.hpp>
#include <motet/jobs/world/world.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace motet {

struct gavel_rules {
  double changes = 3;    // jobs that may change their kind when one is admitted
  bool in_line = false;  // who finds no room holds up all who come later for the kind
};

// Gavel for the most throughput: each job keeps the number of devices that it asked for, and may have any
// kind. One is admitted where all who are can be served with it, few of them on another kind than before; of
// all ways to do so the one with the most samples a second is taken.
class gavel_policy {
 public:
  explicit gavel_policy(const gavel_rules& by = {}) : rules_(by) {}

  void on_events(job_world& world, const job_events& events) {
    for (const auto* gone : {&events.ended, &events.lost})
      for (const std::int32_t job : *gone)
        std::erase_if(admitted_, [&](const member& each) { return each.job == job; });
    if (events.frees()) {
      std::vector<std::uint8_t> blocked(as_size(world.places.kinds()));
      const std::vector<std::int32_t> queue = world.waiting;
      for (const std::int32_t job : queue) {
        std::uint8_t& stop = blocked[as_size(world.of(job).asked.kind)];
        if (stop != 0) continue;
        if (fit(world, job)) start(world, job);
        else if (rules_.in_line) stop = 1;
      }
    }
    for (const std::int32_t job : events.arrived) {
      if (!runs_somewhere(world, job)) world.drop(job);
      else if (fit(world, job)) start(world, job);
      else world.wait(job);
    }
  }
  double mean_gap() const { return solved_ > 0 ? gaps_ / static_cast<double>(solved_) : 0; }
  double worst_gap() const { return worst_; }
  template <class With>
  void remembers(With& with) {
    with("prices", solver_);
    with("admitted", admitted_);
    with("gaps", gaps_);
    with("worst_gap", worst_);
    with("solved", solved_);
  }

 private:
  struct member {
    std::int32_t job = 0, kind = 0;
    template <class With>
    void remembers(With& with) {
      with("job", job);
      with("kind", kind);
    }
  };
  static void start(job_world& world, std::int32_t job) {
    world.start(job);
    world.read_places();
  }
  static bool runs_somewhere(const job_world& world, std::int32_t job) {
    for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
      if (world.speeds.best(world.of(job).shape, world.speeds.packed(kind, world.of(job).asked.devices)).runs)
        return true;
    return false;
  }
  static const job_speed& speed(const job_world& world, std::int32_t job, std::int32_t kind) {
    const job_state& state = world.of(job);
    return world.speeds.data_parallel(state.shape, world.speeds.packed(kind, state.asked.devices));
  }

  bool fit(job_world& world, std::int32_t job) {
    // All devices of all kinds must suffice, or nothing needs to be asked.
    double wanted = world.of(job).asked.devices;
    for (const member& each : admitted_) wanted += world.of(each.job).asked.devices;
    if (wanted > world.places.devices()) return false;
    admitted_.push_back({job, -1});
    if (!ask(world)) {
      admitted_.pop_back();
      return false;
    }
    const assignment_answer got = solver_.solve(problem_);
    if (!got.feasible) {
      admitted_.pop_back();
      return false;
    }
    gaps_ += got.gap();
    worst_ = std::max(worst_, got.gap());
    ++solved_;
    std::vector<std::int32_t> moved;
    for (std::size_t i = 0; i < admitted_.size(); ++i) {
      const std::int32_t kind = problem_.choices[i][as_size(got.chosen[i])].resource;
      if (kind == admitted_[i].kind) continue;
      admitted_[i].kind = kind;
      moved.push_back(static_cast<std::int32_t>(i));
    }
    if (place(world, moved)) return true;
    admitted_.pop_back();
    return false;
  }
  // Choices of all who are admitted; false where somebody has none.
  bool ask(const job_world& world) {
    problem_.limits.clear();
    for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
      problem_.limits.push_back(world.places.usable_of(kind));
    problem_.most_changes = rules_.changes;
    problem_.choices.assign(admitted_.size(), {});
    problem_.needed.assign(admitted_.size(), 1);
    for (std::size_t i = 0; i < admitted_.size(); ++i) {
      const member& each = admitted_[i];
      for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
        if (const job_speed& at = speed(world, each.job, kind); at.runs)
          problem_.choices[i].push_back({at.samples, kind,
                                         static_cast<double>(world.of(each.job).asked.devices),
                                         each.kind >= 0 && each.kind != kind});
      if (problem_.choices[i].empty()) return false;
    }
    return true;
  }
  bool place(job_world& world, const std::vector<std::int32_t>& moved) {
    occupancy& places = world.places;
    const std::size_t mark = places.mark();
    for (const std::int32_t i : moved) places.release(admitted_[as_size(i)].job);
    for (const std::int32_t i : moved) {
      const member& each = admitted_[as_size(i)];
      const job_state& state = world.of(each.job);
      if (place_spread_or_relaxed(
              places, each.job, world.speeds.packed(each.kind, state.asked.devices),
              [&](const allotment& as) { return world.speeds.best(state.shape, as).runs; }))
        continue;
      places.undo(mark);
      return false;
    }
    return true;
  }

  gavel_rules rules_;
  assignment_solver solver_{assignment_solver::rules{30, 1e-3}};
  assignment_problem problem_;
  std::vector<member> admitted_;
  double gaps_ = 0, worst_ = 0;
  isize solved_ = 0;
};

}  // namespace motet
