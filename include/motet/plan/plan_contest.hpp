// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/estimate_plan.hpp>
#include <motet/plan/plan_setback.hpp>
#include <motet/plan/plan_sketch.hpp>

#include <cmath>

namespace motet {

// Plays plans and keeps the best one of every structure.
class plan_contest {
 public:
  plan_contest(const model_shape& model, const cluster_facts& on, index samples, const search_options& options, index joins)
      : model_(model), on_(on), samples_(samples), options_(options), joins_(joins) {}

  // On the seats that promise most. Where the joins alone make a plan too slow to be the best, it is not played if `only_better`.
  void offer(const plan_sketch& of, index most_seats, bool only_better = false) {
    const list<seat_plan> seats = seat_plans(seatings_of(of, model_, options_.bytes, samples_, options_.play), on_, only_better);
    for (index i = 0; i < std::min(seats.size(), most_seats); ++i) {
      played_ += least_played / 4;
      entry made{of, {plan_of(of, seats[i], model_, on_, joins_), {}, {}}, 0};
      if (only_better && !entries_.empty()) {
        const join_cost join = join_of(made.found.how, model_, on_, options_.bytes, samples_, options_.play);
        if (hopeless(step_seconds(of.seconds, joins_, join.compute + join.exchange), of.ranks())) continue;
      }
      if (!estimate(made.found.how, model_, on_, options_.bytes, samples_, made.found.gives, options_.play).ok()) continue;
      ++simulated_;
      played_ += least_played;
      for (const module_plan& each : made.found.how.modules) played_ += index{each.stages()} * each.microbatches;
      if (made.found.gives.memory_bytes > on_.device.memory_bytes) continue;
      made.time = rounded(made.found.gives.step_seconds);
      keep(made);
    }
  }
  // Whether what takes at least so long on so many ranks cannot be the best.
  bool hopeless(double seconds, index ranks) const {
    if (entries_.empty()) return false;
    const double now = best_seconds();
    return seconds > now * (1 + nearly) || (seconds >= now * (1 - nearly) && ranks >= entries_[0].sketch.ranks());
  }
  double best_seconds() const { return entries_.empty() ? 1e300 : entries_[0].found.gives.step_seconds; }
  bool empty() const { return entries_.empty(); }
  index simulated() const { return simulated_; }
  // Microbatches at stages of all plans so far, about: what playing takes time for.
  index played() const { return played_; }
  const plan_sketch& best() const { return entries_[0].sketch; }

  // The first of all that the schedule's proof lets pass, and what comes behind it.
  search_result result(index considered) const {
    search_result out;
    out.considered = considered;
    out.simulated = simulated_;
    const list<module_facts> facts = facts_of(model_);
    for (const entry& each : entries_) {
      if (out.plans.size() >= options_.top) break;
      if (out.plans.empty() && !prove_plan(each.found.how, facts, samples_).ok()) continue;
      out.plans.push(each.found);
      if (out.plans.size() > 1) out.plans.back().why = setback_of(out.plans.back(), out.plans[0]);
    }
    return out;
  }

 private:
  static constexpr index least_played = 100;  // what a plan costs beside its microbatches
  static constexpr double nearly = 1e-9;      // times that differ by less are equal
  struct entry {
    plan_sketch sketch;
    ranked_plan found;
    std::int64_t time = 0;
  };
  static std::int64_t rounded(double seconds) { return std::llround(std::log(seconds) / nearly); }
  static bool better(const entry& a, const entry& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.sketch.ranks() != b.sketch.ranks()) return a.sketch.ranks() < b.sketch.ranks();
    return a.sketch.simpler(b.sketch);
  }
  void keep(const entry& made) {
    index at = 0;
    while (at < entries_.size() && !better(made, entries_[at])) {
      if (entries_[at].sketch.same_structure(made.sketch)) return;
      ++at;
    }
    index same = at;
    while (same < entries_.size() && !entries_[same].sketch.same_structure(made.sketch)) ++same;
    if (same == entries_.size()) entries_.push(made);
    else entries_[same] = made;
    for (index i = same; i > at; --i) std::swap(entries_[i], entries_[i - 1]);
    while (entries_.size() > std::max<index>(options_.top, 1) + 3) entries_.pop();
  }

  const model_shape& model_;
  const cluster_facts& on_;
  index samples_;
  const search_options& options_;
  index joins_, simulated_ = 0, played_ = 0;
  list<entry> entries_;  // best first
};

}  // namespace motet
