// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/jobs/policies/assignment.hpp>
#include <motet/jobs/world/lay_out.hpp>
#include <motet/jobs/world/world.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace motet {

struct sia_rules {
  double power = 0.5;     // of the goodput of a job, so that small ones count
  double most = 3000;     // to which it is cut
  double waiting = 1000;  // what it is worth that one more job runs
  double changes = 3;     // running jobs that may change each time
  double change = 600;    // seconds that a change costs
  std::int32_t largest = 16;
};

// Sia: all jobs get a kind and a number of devices together, so that the sum of their goodputs is largest,
// each measured by the least that it could have and lowered by what restarts cost. What was not run is
// thought to scale by the number of devices, from the least that runs. Who runs is not suspended.
class sia_policy {
 public:
  explicit sia_policy(const sia_rules& by = {}) : rules_(by) {}

  void on_events(job_world& world, const job_events& events) {
    for (const std::int32_t job : events.arrived) world.wait(job);
    if (events.arrived.empty() && !events.frees()) return;
    known_.resize(world.speeds.shapes().size());
    for (const std::int32_t job : world.running) learn(world.of(job));
    who_ = world.running;
    who_.insert(who_.end(), world.waiting.begin(), world.waiting.end());
    ask(world);
    const assignment_answer got = solver_.solve(problem_, start_);
    gaps_ += got.gap();
    worst_ = std::max(worst_, got.gap());
    ++solved_;
    if (got.feasible) carry_out(world, got.chosen);
  }
  double mean_gap() const { return solved_ > 0 ? gaps_ / static_cast<double>(solved_) : 0; }
  double worst_gap() const { return worst_; }
  template <class With>
  void remembers(With& with) {
    with("prices", solver_);
    with("known", known_);
    with("gaps", gaps_);
    with("worst_gap", worst_);
    with("solved", solved_);
  }

 private:
  void learn(const job_state& job) {
    std::vector<allotment>& own = known_[as_size(job.shape)];
    if (std::find(own.begin(), own.end(), job.has) == own.end()) own.push_back(job.has);
  }
  // Samples a second, as far as it is known.
  double guess(const job_world& world, isize shape, const allotment& as) const {
    if (!world.speeds.data_parallel(shape, as).runs) return 0;
    const std::vector<allotment>& own = known_[as_size(shape)];
    if (std::find(own.begin(), own.end(), as) != own.end()) return world.speeds.best(shape, as).samples;
    for (std::int32_t least = 1; least <= as.devices; least *= 2)
      if (const job_speed& at = world.speeds.data_parallel(shape, world.speeds.packed(as.kind, least));
          at.runs)
        return at.samples / least * as.devices;
    return 0;
  }
  void ask(const job_world& world) {
    problem_.limits.clear();
    for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
      problem_.limits.push_back(world.places.usable_of(kind));
    problem_.most_changes = rules_.changes;
    problem_.choices.assign(who_.size(), {});
    problem_.needed.assign(who_.size(), 0);
    wishes_.assign(who_.size(), {});
    start_.assign(who_.size(), -1);
    for (std::size_t i = 0; i < who_.size(); ++i) {
      const job_state& job = world.of(who_[i]);
      const bool runs = job.status == job_status::running;
      problem_.needed[i] = runs ? 1 : 0;
      std::vector<double> goodputs;
      std::int32_t fewest = rules_.largest;
      double least = 1e300;
      for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
        for (std::int32_t devices = 1; devices <= rules_.largest; devices *= 2) {
          const allotment as = world.speeds.packed(kind, devices);
          const bool same = runs && as == job.has;
          const double goodput =
              same ? world.speeds.best(job.shape, as).samples : guess(world, job.shape, as);
          if (goodput <= 0) continue;
          fewest = std::min(fewest, devices);
          least = std::min(least, goodput);
          goodputs.push_back(goodput);
          if (same) start_[i] = static_cast<std::int32_t>(wishes_[i].size());
          wishes_[i].push_back(as);
        }
      const double restarts = static_cast<double>(job.changes);
      const double keeps = std::max((job.ran - restarts * rules_.change) / (job.ran + rules_.change), 0.01);
      for (std::size_t c = 0; c < goodputs.size(); ++c) {
        const double normal = fewest * goodputs[c] / least;
        const double worth = std::min(std::pow(normal * keeps, rules_.power), rules_.most);
        problem_.choices[i].push_back({worth + (runs ? 0 : rules_.waiting), wishes_[i][c].kind,
                                       static_cast<double>(wishes_[i][c].devices),
                                       runs && static_cast<std::int32_t>(c) != start_[i]});
      }
    }
  }
  void carry_out(job_world& world, const std::vector<std::int32_t>& chosen) {
    occupancy& places = world.places;
    kind_layout layout(world);
    const std::size_t mark = places.mark();
    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < who_.size(); ++i)
      if (chosen[i] >= 0 && chosen[i] != start_[i]) fresh.push_back(i);
    const auto wish = [&](std::size_t i) -> const allotment& { return wishes_[i][as_size(chosen[i])]; };
    std::stable_sort(fresh.begin(), fresh.end(),
                     [&](std::size_t a, std::size_t b) { return wish(a).devices > wish(b).devices; });
    for (const std::size_t i : fresh) places.release(who_[i]);
    const bool all =
        std::all_of(fresh.begin(), fresh.end(), [&](std::size_t i) { return layout.put(who_[i], wish(i)); });
    if (!all) {
      places.undo(mark);
      for (std::int32_t kind = 0; kind < places.kinds(); ++kind) {
        std::vector<kind_layout::wish> here;
        for (std::size_t i = 0; i < who_.size(); ++i)
          if (chosen[i] >= 0 && wish(i).kind == kind) here.push_back({who_[i], wish(i).devices});
        // A job that goes to another kind leaves this one first.
        for (const std::size_t i : fresh)
          if (world.of(who_[i]).status == job_status::running && world.of(who_[i]).has.kind == kind &&
              wish(i).kind != kind && !places.pieces(who_[i]).empty() &&
              places.kind_of(places.pieces(who_[i])[0].node) == kind)
            places.release(who_[i]);
        layout.lay_out(kind, std::move(here));
      }
    }
    for (const std::size_t i : fresh)
      if (world.of(who_[i]).status != job_status::running) world.start(who_[i]);
    world.read_places();
  }

  sia_rules rules_;
  assignment_solver solver_{assignment_solver::rules{60, 1e-3}};
  assignment_problem problem_;
  std::vector<std::int32_t> who_, start_;
  std::vector<std::vector<allotment>> wishes_;
  std::vector<std::vector<allotment>> known_;  // of each shape, what has run
  double gaps_ = 0, worst_ = 0;
  isize solved_ = 0;
};

}  // namespace motet
