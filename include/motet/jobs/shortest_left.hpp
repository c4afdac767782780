// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/assignment.hpp>
#include <motet/jobs/bubbles.hpp>
#include <motet/jobs/world.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace motet {

struct shortest_left_rules {
  double power = 1;         // of what a job gains
  double patience = 4;      // rounds per second of work left: see on_events
  double keep = 1.05;       // what a job has is worth that much more than the same thing anew
  double change = 40;       // seconds that a change costs
  double age = 86400;       // seconds of waiting after which a job counts twice
  std::int32_t largest = 16;
};

class shortest_left_policy {
 public:
  explicit shortest_left_policy(const shortest_left_rules& by = {}) : rules_(by) {}

  void on_events(job_world& world, const job_events& events) {
    for (const std::int32_t job : events.arrived) world.wait(job);
    if (events.arrived.empty() && events.ended.empty()) return;
    if (!placer_) placer_.emplace(world);
    who_ = world.running;
    who_.insert(who_.end(), world.waiting.begin(), world.waiting.end());
    ask(world);
    const assignment_answer got = solver_.solve(problem_);
    gap_ += got.gap();
    worst_ = std::max(worst_, got.gap());
    ++solved_;
    carry_out(world, got);
  }
  double mean_gap() const { return solved_ ? gap_ / static_cast<double>(solved_) : 0; }
  double worst_gap() const { return worst_; }

 private:
  void ask(const job_world& world) {
    problem_.limits.clear();
    for (const device_group& each : world.speeds.cluster().kinds)
      problem_.limits.push_back(static_cast<double>(each.devices()));
    problem_.choices.assign(who_.size(), {});
    wishes_.assign(who_.size(), {});
    for (std::size_t i = 0; i < who_.size(); ++i) {
      const job_state& job = world.of(who_[i]);
      const bool runs = job.status == job_status::running;
      for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
        for (std::int32_t devices = 1; devices <= rules_.largest; devices *= 2) {
          const allotment as = world.speeds.packed(kind, devices);
          if (!world.speeds.best(job.shape, as).runs) continue;
          const bool same = runs && job.has.kind == kind && job.has.devices == devices;
          const double left = std::max(job.left, 1.0) * world.speeds.best_seconds(job.shape, same ? job.has : as);
          const double since = world.now - job.submitted;
          const double value = std::pow(1 / (left + (same ? 0 : rules_.change)), rules_.power) *
                               (1 + since / rules_.age) * (same ? rules_.keep : 1);
          problem_.choices[i].push_back({1e3 * value, kind, static_cast<double>(devices), false});
          wishes_[i].push_back(as);
        }
    }
  }

  void carry_out(job_world& world, const assignment_answer& got) {
    occupancy& places = world.places;
    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < who_.size(); ++i) {
      const std::int32_t job = who_[i];
      const bool runs = world.of(job).status == job_status::running;
      if (got.chosen[i] < 0) {
        if (!runs) continue;
        places.release(job);
        world.suspend(job);
        continue;
      }
      const allotment& wish = wishes_[i][as_size(got.chosen[i])];
      if (runs && world.of(job).has.kind == wish.kind && world.of(job).has.devices == wish.devices) continue;
      places.release(job);
      fresh.push_back(i);
    }
    const auto value = [&](std::size_t i) { return problem_.choices[i][as_size(got.chosen[i])].value; };
    std::stable_sort(fresh.begin(), fresh.end(), [&](std::size_t a, std::size_t b) {
      const allotment &x = wishes_[a][as_size(got.chosen[a])], &y = wishes_[b][as_size(got.chosen[b])];
      return x.devices != y.devices ? x.devices > y.devices : value(a) > value(b);
    });
    for (const std::size_t i : fresh) {
      const std::int32_t job = who_[i];
      const bool runs = world.of(job).status == job_status::running;
      if (put(world, job, wishes_[i][as_size(got.chosen[i])])) {
        if (!runs) world.start(job);
      } else if (runs) {
        world.suspend(job);
      }
    }
    world.read_places();
  }
  // As wished, or with fewer devices where gaps are too small.
  bool put(job_world& world, std::int32_t job, allotment wish) {
    const index shape = world.of(job).shape;
    const auto runs = [&](const allotment& as) { return world.speeds.best(shape, as).runs; };
    for (; wish.devices > 0; wish.devices /= 2)
      if (placer_->place(job, wish.kind, wish.devices, 8, runs).fits) return true;
    return false;
  }

  shortest_left_rules rules_;
  assignment_solver solver_;
  assignment_problem problem_;
  std::optional<bubble_placer> placer_;
  std::vector<std::int32_t> who_;
  std::vector<std::vector<allotment>> wishes_;
  double gap_ = 0, worst_ = 0;
  index solved_ = 0;
};

}  // namespace motet
