// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/policies/assignment.hpp>
#include <motet/jobs/policies/promises.hpp>
#include <motet/jobs/world/lay_out.hpp>
#include <motet/jobs/world/world.hpp>

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
  double promised = 0.25;   // of a kind's devices: so many at most are set aside for more than one job
  double late = 1;          // what a choice is worth with which a job ends behind its deadline, as a share
  std::int32_t largest = 16;  // devices of a job
};

// Shares devices out so that jobs end early: whenever something happened, each job's kind and number of
// devices are chosen anew, all at once, by the share of what is left of it that a second would do. Short
// rests count more, so the mean time to completion falls; what changes must be worth its cost. How far the
// choice is from the best is known each time: no other one is worth more than the bound of its relaxation.
// Who waits long is promised devices, so that nobody waits without end.
class motet_policy {
 public:
  explicit motet_policy(const motet_policy_rules& by = {})
      : rules_(by), promises_(by.patience, by.promised) {}

  void on_events(job_world& world, const job_events& events) {
    for (const std::int32_t job : events.arrived) {
      world.wait(job);
      if (!runs_somewhere(world, job)) world.drop(job);
    }
    const bool late = promises_.patience_ends(world);
    if (events.arrived.empty() && !events.frees() && !late) return;
    call(world);
    ask(world);
    // From the least that promises take, the choice starts.
    const std::vector<std::int32_t>& start = promises_.promise(world, who_, wishes_, problem_.limits);
    problem_.needed.clear();
    for (const std::int32_t each : start) problem_.needed.push_back(each >= 0 ? 1 : 0);
    const assignment_answer got = solver_.solve(problem_, start);
    mean_gap_ += got.gap();
    worst_gap_ = std::max(worst_gap_, got.gap());
    ++solved_;
    carry_out(world, got.chosen);
  }

  // It wants to be asked then though nothing happens, as a patience ends.
  double wakes(const job_world& world) const { return promises_.wakes(world); }
  const std::vector<device_promises::pledge>& pledges() const { return promises_.pledges(); }

  // Choices were worth so much less than their bounds, as a share, over all that were made.
  double mean_gap() const { return solved_ > 0 ? mean_gap_ / static_cast<double>(solved_) : 0; }
  double worst_gap() const { return worst_gap_; }
  isize choices_made() const { return solved_; }
  // The last choice was among so many jobs.
  std::size_t called() const { return who_.size(); }
  template <class With>
  void remembers(With& with) {
    with("prices", solver_);
    promises_.remembers(with);
    with("gaps", mean_gap_);
    with("worst_gap", worst_gap_);
    with("solved", solved_);
  }

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
  // All that run are asked, and of those that wait and are alike but for what is left of them, no more than
  // there are devices, those with the least left: what one of the others would get is worth more to one of
  // these. So an event takes no longer where thousands wait. The oldest, to whom promises are due or made,
  // are asked in any case. Where deadlines count, jobs are not alike.
  void call(const job_world& world) {
    std::size_t devices = 0;
    for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
      devices += as_size(world.places.usable_of(kind));
    who_ = world.running;
    called_.assign(world.jobs.size(), rules_.late != 1 || world.waiting.size() <= devices ? 1 : 0);
    if (rules_.late == 1 && world.waiting.size() > devices) {
      alike_.resize(world.speeds.shapes().size() + 1);
      for (std::vector<std::int32_t>& each : alike_) each.clear();
      std::vector<std::int32_t>& old = alike_.back();
      for (const std::int32_t job : world.waiting) {
        alike_[as_size(world.of(job).shape)].push_back(job);
        if (world.of(job).waited >= rules_.patience) old.push_back(job);
      }
      call_first(old, devices + 1, [](std::int32_t a, std::int32_t b) { return a < b; });
      old.clear();
      for (const device_promises::pledge& each : pledges()) called_[as_size(each.job)] = 1;
      for (std::vector<std::int32_t>& each : alike_)
        call_first(each, devices, [&](std::int32_t a, std::int32_t b) {
          const double of_a = world.of(a).left, of_b = world.of(b).left;
          return of_a != of_b ? of_a < of_b : a < b;
        });
    }
    for (const std::int32_t job : world.waiting)
      if (called_[as_size(job)] != 0) who_.push_back(job);
  }
  template <class Before>
  void call_first(std::vector<std::int32_t>& of, std::size_t count, Before before) {
    if (of.size() > count) {
      std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(count), of.end(), before);
      of.resize(count);
    }
    for (const std::int32_t job : of) called_[as_size(job)] = 1;
  }
  void ask(const job_world& world) {
    problem_.limits.clear();
    for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
      problem_.limits.push_back(world.places.usable_of(kind));
    problem_.choices.resize(who_.size());
    wishes_.resize(who_.size());
    for (std::size_t i = 0; i < who_.size(); ++i) {
      problem_.choices[i].clear();
      wishes_[i].clear();
      const job_state& job = world.of(who_[i]);
      const bool runs = job.status == job_status::running;
      for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
        for (std::int32_t devices = 1; devices <= largest(world, kind); devices *= 2) {
          const allotment as = world.speeds.packed(kind, devices);
          if (!world.speeds.best(job.shape, as).runs) continue;
          const bool same = runs && job.has.kind == kind && job.has.devices == devices;
          const double left = std::max(job.left, 1.0) * world.speeds.cautious_seconds(job.shape, as);
          const double rest = left + (same ? 0 : rules_.change);
          const double value =
              std::pow(rest, -rules_.power) * (world.now + rest > job.deadline ? rules_.late : 1);
          problem_.choices[i].push_back(
              {(same ? rules_.keep : 1) * 1e3 * value, kind, static_cast<double>(devices)});
          wishes_[i].push_back(as);
        }
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
    // A job that leaves a crowded kind, or comes to one that is not, makes room first.
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
  device_promises promises_;
  assignment_solver solver_;
  assignment_problem problem_;
  std::vector<std::int32_t> who_;
  std::vector<std::uint8_t> called_;              // of each job, whether it is in who_, if it waits
  std::vector<std::vector<std::int32_t>> alike_;  // of each shape, who waits; behind them the old ones
  std::vector<std::vector<allotment>> wishes_;
  double mean_gap_ = 0, worst_gap_ = 0;
  isize solved_ = 0;
};

}  // namespace motet
