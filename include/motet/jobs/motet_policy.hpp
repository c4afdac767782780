// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/assignment.hpp>
#include <motet/jobs/lay_out.hpp>
#include <motet/jobs/world.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace motet {

struct motet_policy_rules {
  double power = 0.75;      // of the share of a job's rest that a second does: below 1, more jobs run at once
  double keep = 1.05;       // what a job has is worth that much more than the same anew
  double change = 40;       // seconds that a change costs a job
  double patience = 43200;  // seconds after which a job that waits is promised devices
  std::int32_t largest = 16;  // devices of a job
};

// Shares devices out so that jobs end early: whenever something happened, each job's kind and number of
// devices are chosen anew, all at once, by the share of what is left of it that a second would do. Short
// rests count more, so the mean time to completion falls; what changes must be worth its cost. How far the
// choice is from the best is known each time: no other one is worth more than the bound of its relaxation.
//
// A job that waited `patience` seconds in all is promised devices: oldest first, as far as the least that
// each runs on fits into the cluster, those who are promised run from the next event to their end and are
// never suspended. So the oldest job that waits starts at the first event behind its patience, and each of n
// such jobs does while the n least numbers fit together.
class motet_policy {
 public:
  explicit motet_policy(const motet_policy_rules& by = {}) : rules_(by) {}

  void on_events(job_world& world, const job_events& events) {
    for (const std::int32_t job : events.arrived) {
      world.wait(job);
      if (!runs_somewhere(world, job)) world.drop(job);
    }
    if (events.arrived.empty() && events.ended.empty() && !patience_ends(world)) return;
    who_ = world.running;
    who_.insert(who_.end(), world.waiting.begin(), world.waiting.end());
    ask(world);
    promise(world);
    const assignment_answer got = solver_.solve(problem_, start_);
    mean_gap_ += got.gap();
    worst_gap_ = std::max(worst_gap_, got.gap());
    ++solved_;
    carry_out(world, got.chosen);
  }

  // Of all choices that were made: how far below their bounds they were worth, as a share.
  double mean_gap() const { return solved_ > 0 ? mean_gap_ / static_cast<double>(solved_) : 0; }
  double worst_gap() const { return worst_gap_; }
  index choices_made() const { return solved_; }

 private:
  bool runs_somewhere(const job_world& world, std::int32_t job) const {
    for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
      for (std::int32_t devices = 1; devices <= largest(world, kind); devices *= 2)
        if (world.speeds.best(world.of(job).shape, world.speeds.packed(kind, devices)).runs) return true;
    return false;
  }
  std::int32_t largest(const job_world& world, std::int32_t kind) const {
    return std::min(rules_.largest, static_cast<std::int32_t>(world.speeds.cluster().largest(kind)));
  }
  bool patience_ends(const job_world& world) const {
    return std::any_of(world.waiting.begin(), world.waiting.end(), [&](std::int32_t job) {
      const double waited = world.of(job).waited;
      return waited >= rules_.patience && waited - world.round < rules_.patience;
    });
  }

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
        for (std::int32_t devices = 1; devices <= largest(world, kind); devices *= 2) {
          const allotment as = world.speeds.packed(kind, devices);
          if (!world.speeds.best(job.shape, as).runs) continue;
          const bool same = runs && job.has.kind == kind && job.has.devices == devices;
          const double left = std::max(job.left, 1.0) * world.speeds.cautious_seconds(job.shape, as);
          const double value = std::pow(1 / (left + (same ? 0 : rules_.change)), rules_.power);
          problem_.choices[i].push_back(
              {(same ? rules_.keep : 1) * 1e3 * value, kind, static_cast<double>(devices)});
          wishes_[i].push_back(as);
        }
    }
  }

  // Reserves the least for those who waited too long, oldest first; from this the choice starts.
  void promise(const job_world& world) {
    problem_.needed.assign(who_.size(), 0);
    start_.assign(who_.size(), -1);
    std::vector<std::size_t> old;
    for (std::size_t i = 0; i < who_.size(); ++i)
      if (world.of(who_[i]).waited >= rules_.patience) old.push_back(i);
    std::sort(old.begin(), old.end(), [&](std::size_t a, std::size_t b) { return who_[a] < who_[b]; });
    std::vector<double> room = problem_.limits;
    for (const std::size_t i : old) {
      const std::vector<assignment_choice>& own = problem_.choices[i];
      std::int32_t best = -1;
      for (std::size_t c = 0; c < own.size(); ++c)
        if (own[c].amount <= room[as_size(own[c].resource)] &&
            (best < 0 || own[c].amount < own[as_size(best)].amount))
          best = static_cast<std::int32_t>(c);
      if (best < 0) continue;
      room[as_size(own[as_size(best)].resource)] -= own[as_size(best)].amount;
      problem_.needed[i] = 1;
      start_[i] = best;
    }
  }

  void carry_out(job_world& world, const std::vector<std::int32_t>& chosen) {
    occupancy& places = world.places;
    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < who_.size(); ++i) {
      const std::int32_t job = who_[i];
      const bool runs = world.of(job).status == job_status::running;
      if (chosen[i] >= 0) {
        const allotment& wish = wishes_[i][as_size(chosen[i])];
        if (!runs || world.of(job).has != wish) fresh.push_back(i);
      } else if (runs) {
        places.release(job);
        world.suspend(job);
      }
    }
    const auto wish = [&](std::size_t i) -> const allotment& { return wishes_[i][as_size(chosen[i])]; };
    std::stable_sort(fresh.begin(), fresh.end(),
                     [&](std::size_t a, std::size_t b) { return wish(a).devices > wish(b).devices; });
    kind_layout layout(world);
    std::vector<std::uint8_t> crowded(as_size(places.kinds()));
    const std::size_t mark = places.mark();
    for (const std::size_t i : fresh) places.release(who_[i]);
    for (const std::size_t i : fresh)
      if (!layout.put(who_[i], wish(i))) crowded[as_size(wish(i).kind)] = 1;
    if (std::any_of(crowded.begin(), crowded.end(), [](std::uint8_t each) { return each != 0; }))
      clear_gaps(world, chosen, fresh, crowded, mark);
    for (const std::size_t i : fresh)
      if (world.of(who_[i]).status != job_status::running) world.start(who_[i]);
    world.read_places();
  }
  // Where gaps were too small, all jobs of the kind are laid out anew.
  void clear_gaps(job_world& world, const std::vector<std::int32_t>& chosen,
                  const std::vector<std::size_t>& fresh, const std::vector<std::uint8_t>& crowded,
                  std::size_t mark) {
    world.places.undo(mark);
    kind_layout layout(world);
    const auto wish = [&](std::size_t i) -> const allotment& { return wishes_[i][as_size(chosen[i])]; };
    // Who leaves a crowded kind, or comes to one that is not, makes room first.
    for (const std::size_t i : fresh) {
      const job_state& job = world.of(who_[i]);
      if (job.status != job_status::running || job.has.kind != wish(i).kind ||
          crowded[as_size(wish(i).kind)] == 0)
        world.places.release(who_[i]);
    }
    for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind) {
      if (crowded[as_size(kind)] == 0) continue;
      std::vector<kind_layout::wish> all;
      for (std::size_t i = 0; i < who_.size(); ++i)
        if (chosen[i] >= 0 && wish(i).kind == kind) all.push_back({who_[i], wish(i).devices});
      layout.lay_out(kind, std::move(all));
    }
    for (const std::size_t i : fresh)
      if (crowded[as_size(wish(i).kind)] == 0) layout.put(who_[i], wish(i));
  }

  motet_policy_rules rules_;
  assignment_solver solver_;
  assignment_problem problem_;
  std::vector<std::int32_t> who_, start_;
  std::vector<std::vector<allotment>> wishes_;
  double mean_gap_ = 0, worst_gap_ = 0;
  index solved_ = 0;
};

}  // namespace motet
