// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/search/search_refusals.hpp>
#include <motet/plan/search/tower_points.hpp>

namespace motet {

// The points of all towers of a model, found once for each number of ranks.
class tower_library {
 public:
  // `samples` of each loss, `room` the share of a device's memory that may be filled. Keeps the addresses of
  // what questions have of them.
  tower_library(const model_shape& model, const cluster_facts& on, index samples, index joins,
                const search_options& options, bool thorough, double room = 1)
      : joins_(joins), thorough_(thorough) {
    for (index k = 0; k < model.towers.size(); ++k) {
      questions_.push_back(question_of(model, on, k, samples, options, thorough));
      questions_.back().room = room;
    }
    for (const tower_question& each : questions_) finders_.emplace_back(each);
  }

  const std::vector<tower_question>& questions() const { return questions_; }
  const list<tower_point>& points(index k, index ranks) {
    const auto key = std::pair(k, ranks);
    const auto known = points_.find(key);
    return known != points_.end() ? known->second
                                  : points_.emplace(key, finders_[as_size(k)].on(ranks)).first->second;
  }
  // Points are counted, and those that no other one beats are kept. Nothing of the others stays in memory but
  // in a thorough search, which asks for them.
  index count(index k, index ranks) { return summary_of(k, ranks).count; }
  const list<tower_point>& best(index k, index ranks, bool shared) {
    summary& known = summary_of(k, ranks);
    return shared ? known.best_shared : known.best;
  }

 private:
  struct summary {
    index count = 0;
    list<tower_point> best, best_shared;
  };
  summary& summary_of(index k, index ranks) {
    const auto [at, anew] = summaries_.try_emplace(std::pair(k, ranks));
    summary& known = at->second;
    if (!anew) return known;
    list<tower_point> found;
    if (!thorough_) found = finders_[as_size(k)].on(ranks);
    const list<tower_point>& all = thorough_ ? points(k, ranks) : found;
    known = {all.size(), best_points(all, joins_), best_points(all, joins_, true)};
    return known;
  }
  tower_question question_of(const model_shape& model, const cluster_facts& on, index k, index samples,
                             const search_options& options, bool thorough) const {
    tower_question out{model.towers[k], on, options.bytes, samples, joins_};
    out.pin = detail::merged_pin(model, k, options);
    for (index j = 0; j < model.towers.size(); ++j)
      if (j != k && model.join.view() != "sigmoid")
        out.features += static_cast<double>(samples * model.towers[j].embedding) * options.bytes.feature;
    out.thorough = thorough;
    out.play = options.play;
    return out;
  }

  index joins_;
  bool thorough_;
  std::vector<tower_question> questions_;
  std::vector<tower_point_finder> finders_;
  std::map<std::pair<index, index>, list<tower_point>> points_;
  std::map<std::pair<index, index>, summary> summaries_;
};

}  // namespace motet
