// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/layers_by_speed.hpp>
#include <motet/plan/search/plan_ranking.hpp>
#include <motet/plan/search/plan_sketch.hpp>

#include <cmath>

namespace motet {

// Plays sketches on their seats and keeps the best plan of every structure.
class plan_contest {
 public:
  plan_contest(const model_shape& model, const cluster_facts& on, isize samples,
               const search_options& options, isize joins)
      : model_(model),
        on_(on),
        samples_(samples),
        options_(options),
        joins_(joins),
        ranking_(model, on, samples, options) {}

  // Plays a sketch on the seats that promise most. Where the joins alone make a plan too slow to be the best,
  // it is not played if `only_better`.
  void offer(const plan_sketch& of, isize most_seats, bool only_better = false) {
    const list<seat_layout> seats = seat_layouts(
        seatings_of(of, model_, options_.bytes, samples_, options_.play), on_, only_better, most_seats);
    for (isize i = 0; i < seats.size(); ++i) {
      played_ += least_played / 4;
      const plan made = plan_of(of, seats[i], model_, on_, joins_);
      if (only_better && !empty()) {
        const join_cost join = join_of(made, model_, on_, options_.bytes, samples_, options_.play);
        if (hopeless(step_seconds(of.seconds, joins_, join.compute + join.exchange), of.ranks())) continue;
      }
      play(made, of);
      if (plan cut = made; cut_by_speed(cut, model_, on_, options_.bytes)) play(cut, of);
    }
  }
  // A plan that takes at least so long on so many ranks cannot be the best.
  bool hopeless(double seconds, isize ranks) const {
    if (empty()) return false;
    const double now = best_seconds();
    return seconds > now * (1 + nearly) || (seconds >= now * (1 - nearly) && ranks >= best().ranks());
  }
  double best_seconds() const { return empty() ? 1e300 : ranking_.best_seconds(); }
  bool empty() const { return ranking_.empty(); }
  isize simulated() const { return ranking_.simulated(); }
  // Microbatches at stages of all plans so far, about: what playing takes time for.
  isize played() const { return played_; }
  const plan_sketch& best() const { return ranking_.best().sketch; }

  // The first of all that the schedule's proof lets pass, and what comes behind it.
  search_result result(isize considered) const {
    const list<module_facts> facts = facts_of(model_);
    return ranking_.result(considered,
                           [&](const plan& how) { return prove_plan(how, facts, samples_).ok(); });
  }

 private:
  void play(const plan& made, const plan_sketch& of) {
    const isize before = simulated();
    by_structure own{of};
    for (isize k = 0; k < made.modules.size(); ++k)
      own.sketch.points[k].kinds = kinds_of(made.modules[k].on.ranks(), on_);
    ranking_.offer(made, own);
    if (simulated() == before) return;
    played_ += least_played;
    for (const module_plan& each : made.modules) played_ += isize{each.stages()} * each.microbatches;
  }

  static constexpr isize least_played = 100;  // what a plan costs beside its microbatches
  static constexpr double nearly = 1e-9;      // times that differ by less are equal
  // Of equally fast plans the one on fewer ranks is better, then the simpler one.
  struct by_structure {
    plan_sketch sketch;
    static constexpr isize spare = 3;  // in case that the first ones have no proof
    bool alike(const by_structure& other) const { return sketch.same_structure(other.sketch); }
    bool better(double seconds, const by_structure& other, double other_seconds) const {
      const std::int64_t time = rounded(seconds), other_time = rounded(other_seconds);
      if (time != other_time) return time < other_time;
      if (sketch.ranks() != other.sketch.ranks()) return sketch.ranks() < other.sketch.ranks();
      return sketch.simpler(other.sketch);
    }
    static std::int64_t rounded(double seconds) { return std::llround(std::log(seconds) / nearly); }
  };

  const model_shape& model_;
  const cluster_facts& on_;
  isize samples_;
  const search_options& options_;
  isize joins_, played_ = 0;
  plan_ranking<by_structure> ranking_;
};

}  // namespace motet
