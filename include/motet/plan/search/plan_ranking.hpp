// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/estimate_plan.hpp>
#include <motet/plan/search/plan_setback.hpp>

namespace motet {

// Every plan counts by itself, and the faster one is better. Another kind keeps one plan of those that are
// alike, and more than it is asked for.
struct any_plan {
  static constexpr isize spare = 0;
  bool alike(const any_plan&) const { return false; }
  // Says whether a plan of this kind is better than another.
  bool better(double seconds, const any_plan&, double other_seconds) const { return seconds < other_seconds; }
};

// Plays the plans that it is offered and keeps the best, by their simulated steps. What does not fit in
// memory is left out.
template <class Kind = any_plan>
class plan_ranking {
 public:
  // Keeps the addresses of model, cluster and options.
  plan_ranking(const model_shape& model, const cluster_facts& on, isize samples,
               const search_options& options)
      : model_(model), on_(on), samples_(samples), options_(options) {}

  // Returns true for a plan that fits. Of equally good ones the first stays before the others.
  bool offer(const plan& of, const Kind& kind = {}) {
    entry made{{of, {}, {}}, kind};
    if (!estimate(of, model_, on_, options_.bytes, samples_, made.found.gives, options_.play).ok())
      return false;
    ++simulated_;
    if (!fits(made.found.gives, on_)) return false;
    keep(made);
    return true;
  }

  bool empty() const { return entries_.empty(); }
  isize simulated() const { return simulated_; }
  double best_seconds() const { return entries_[0].seconds(); }
  const Kind& best() const { return entries_[0].kind; }

  // The best comes first, each with what it loses most to. The first one is the first that may be, by
  // may_lead(plan).
  template <class MayLead>
  search_result result(isize considered, MayLead may_lead) const {
    search_result out{{}, considered, simulated_};
    for (const entry& each : entries_) {
      if (out.plans.size() >= most()) break;
      if (out.plans.empty() && !may_lead(each.found.how)) continue;
      out.plans.push(each.found);
      if (out.plans.size() > 1) out.plans.back().why = setback_of(out.plans.back(), out.plans[0]);
    }
    return out;
  }
  search_result result(isize considered) const {
    return result(considered, [](const plan&) { return true; });
  }

 private:
  struct entry {
    ranked_plan found;
    Kind kind;
    double seconds() const { return found.gives.step_seconds; }
    bool better(const entry& other) const { return kind.better(seconds(), other.kind, other.seconds()); }
  };
  isize most() const { return options_.top > 1 ? options_.top : 1; }
  void keep(const entry& made) {
    isize at = 0;
    while (at < entries_.size() && !made.better(entries_[at])) {
      if (entries_[at].kind.alike(made.kind)) return;
      ++at;
    }
    isize same = at;
    while (same < entries_.size() && !entries_[same].kind.alike(made.kind)) ++same;
    if (same == entries_.size()) entries_.push(made);
    else entries_[same] = made;
    for (isize i = same; i > at; --i) std::swap(entries_[i], entries_[i - 1]);
    if (entries_.size() > most() + Kind::spare) entries_.pop();
  }

  const model_shape& model_;
  const cluster_facts& on_;
  isize samples_;
  const search_options& options_;
  list<entry> entries_;  // best first
  isize simulated_ = 0;
};

}  // namespace motet
