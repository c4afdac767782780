// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/estimate_plan.hpp>
#include <motet/plan/plan_setback.hpp>

namespace motet {

// Keeps the best of the plans that it is offered, by their simulated steps. What does not fit in memory is left out.
class plan_ranking {
 public:
  // Keeps the addresses of model, cluster and options.
  plan_ranking(const model_shape& model, const cluster_facts& on, index samples, const search_options& options)
      : model_(model), on_(on), samples_(samples), options_(options) {}

  // Whether it is a plan that fits. Of equally fast ones the first stays before the others.
  bool offer(const plan& of) {
    ranked_plan made{of, {}, {}};
    if (!estimate(of, model_, on_, options_.bytes, samples_, made.gives, options_.play).ok()) return false;
    ++simulated_;
    if (made.gives.memory_bytes > on_.device.memory_bytes) return false;
    plans_.push(made);
    const auto seconds = [this](index i) { return plans_[i].gives.step_seconds; };
    for (index i = plans_.size() - 1; i > 0 && seconds(i) < seconds(i - 1); --i) std::swap(plans_[i], plans_[i - 1]);
    const index most = options_.top > 1 ? options_.top : 1;
    if (plans_.size() > most) plans_.pop();
    return true;
  }

  bool empty() const { return plans_.empty(); }

  // Best first, each with what it loses most to.
  search_result result(index considered) const {
    search_result out{plans_, considered, simulated_};
    for (index i = 1; i < out.plans.size(); ++i) out.plans[i].why = setback_of(out.plans[i], out.plans[0]);
    return out;
  }

 private:
  const model_shape& model_;
  const cluster_facts& on_;
  index samples_;
  const search_options& options_;
  list<ranked_plan> plans_;
  index simulated_ = 0;
};

}  // namespace motet
