// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/search/search_refusals.hpp>
#include <motet/plan/search/tower_points.hpp>

namespace motet {

// Towers are placed on devices of one kind, or on any.
struct device_place {
  std::uint32_t kinds = 1;
  cluster_facts as_one;                      // as a tower there sees it
  std::int32_t stages = 1, most_stages = 0;  // that a tower there has; 0: any number
  constexpr isize devices() const { return as_one.devices(); }
  constexpr bool has(const tower_point& of) const {
    return of.split.stages >= stages && (most_stages == 0 || of.split.stages <= most_stages);
  }
};
// Replicas on any devices wait for the slowest, stages get layers by speed; or, for bounds, all are as fast
// as the fastest.
inline std::vector<device_place> device_places(const cluster_facts& on, bool bounds) {
  std::vector<device_place> out;
  out.reserve(static_cast<std::size_t>(on.kinds()) + 2);
  for (std::int32_t kind = 0; kind < on.kinds(); ++kind)
    out.push_back({1u << kind, of_kinds(on, 1u << kind)});
  if (on.kinds() == 1) return out;
  const std::uint32_t all = on.all_kinds();
  if (bounds) {
    out.push_back({all, of_kinds(on, all, of_unlike::fastest)});
  } else {
    out.push_back({all, of_kinds(on, all, of_unlike::slowest), 1, 1});
    out.push_back({all, of_kinds(on, all, of_unlike::mean), 2, 0});
  }
  return out;
}

// The points of all towers of a model in all places, found once for each number of ranks.
class tower_library {
 public:
  // `samples` of each loss, `room` the share of a device's memory that may be filled, `bounds` as
  // device_places() has it. Keeps the addresses of what questions have of them.
  tower_library(const model_shape& model, const cluster_facts& on, isize samples, isize joins,
                const search_options& options, bool thorough, double room = 1, bool bounds = true,
                bool shares_experts = true)
      : joins_(joins), towers_(model.towers.size()), thorough_(thorough), places_(device_places(on, bounds)) {
    for (const device_place& each : places_) {
      for (isize k = 0; k < towers_; ++k) {
        questions_.push_back(question_of(model, each.as_one, k, samples, options, thorough));
        questions_.back().room = room;
        questions_.back().kinds = each.kinds;
        questions_.back().shares_experts = shares_experts;
      }
    }
    for (const tower_question& each : questions_) finders_.emplace_back(each);
  }

  // Questions stand place by place, and in each place tower by tower.
  const std::vector<tower_question>& questions() const { return questions_; }
  const std::vector<device_place>& places() const { return places_; }
  const list<tower_point>& points(isize k, isize ranks, isize place = 0) {
    const auto key = std::tuple(k, ranks, place);
    const auto known = points_.find(key);
    return known != points_.end() ? known->second : points_.emplace(key, find(k, ranks, place)).first->second;
  }
  // How many there are, and those that no other one beats. Of all the others nothing stays in memory but in a
  // thorough search, which asks for them.
  isize count(isize k, isize ranks, isize place = 0) { return summary_of(k, ranks, place).count; }
  const list<tower_point>& best(isize k, isize ranks, bool shared, isize place = 0) {
    summary& known = summary_of(k, ranks, place);
    return shared ? known.best_shared : known.best;
  }

 private:
  struct summary {
    isize count = 0;
    list<tower_point> best, best_shared;
  };
  list<tower_point> find(isize k, isize ranks, isize place) {
    const device_place& where = places_[as_size(place)];
    if (ranks > where.devices()) return {};
    list<tower_point> found = finders_[as_size(place * towers_ + k)].on(ranks);
    if ((where.kinds & (where.kinds - 1)) == 0) return found;
    // What has one tensor group is on one kind, whatever it may take.
    list<tower_point> out;
    for (const tower_point& each : found)
      if (each.ranks() > each.split.tensor && where.has(each)) out.push(each);
    return out;
  }
  summary& summary_of(isize k, isize ranks, isize place) {
    const auto [at, anew] = summaries_.try_emplace(std::tuple(k, ranks, place));
    summary& known = at->second;
    if (!anew) return known;
    list<tower_point> found;
    if (!thorough_) found = find(k, ranks, place);
    const list<tower_point>& all = thorough_ ? points(k, ranks, place) : found;
    known = {all.size(), best_points(all, joins_), best_points(all, joins_, true)};
    return known;
  }
  tower_question question_of(const model_shape& model, const cluster_facts& on, isize k, isize samples,
                             const search_options& options, bool thorough) const {
    tower_question out{model.towers[k], on, options.bytes, samples, joins_};
    out.pin = detail::merged_pin(model, k, options);
    for (isize j = 0; j < model.towers.size(); ++j)
      if (j != k && model.join.view() != "sigmoid")
        out.features += static_cast<double>(samples * model.towers[j].embedding) * options.bytes.feature;
    out.thorough = thorough;
    out.play = options.play;
    return out;
  }

  isize joins_, towers_;
  bool thorough_;
  std::vector<device_place> places_;
  std::vector<tower_question> questions_;
  std::vector<tower_point_finder> finders_;
  std::map<std::tuple<isize, isize, isize>, list<tower_point>> points_;
  std::map<std::tuple<isize, isize, isize>, summary> summaries_;
};

}  // namespace motet
