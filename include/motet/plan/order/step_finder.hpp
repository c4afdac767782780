// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/conduct_told.hpp>
#include <motet/plan/order/conductor.hpp>
#include <motet/plan/order/reorder_told.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace motet {

struct conduct_options {
  any_conductor by = shortest_by_simulation{};
  // Steps between two that are recorded, from which costs are corrected, and three when a score is new; 0:
  // costs stay as they were counted.
  isize every = 8;
  // Steps after which the times of a score that was not recorded any more are doubted; 0: never.
  isize doubts_after = 256;
  // Each score takes the samples of a step in an order of its own, where one is looked for.
  order_search orders{.asked = {.ranks = false, .slots = false}};
};

// What was found of a step before it begins: the score is told, and the order is that of its samples.
struct found_step {
  step_headers of;
  sample_order order;
  conduct_told told{};
  reorder_told ordered{};

  std::int32_t score() const { return told.score; }
};

// Finds how the steps of a run are played, by which score and with their samples in which order: a conductor
// picks of the scores, each with the order that was found for it. Everything follows from headers and from
// the steps that were recorded, so processes that know the same find the same.
// Asks for: scores of one cast, whose programs outlive it.
// Memory: some numbers for each sample and each instruction.
// Errors: none of its own.
// Example:
//   // Of steps that simulation plays, too.
//   std::int32_t played(step_finder& finds, const step_headers& of, const timeline& took) {
//     found_step next = finds.find(of);
//     const std::int32_t score = next.score();
//     if (finds.begin(next)) finds.note(std::move(next), took);
//     return score;
//   }
class step_finder {
 public:
  step_finder(cast_scores scores, conduct_options how)
      : how_(std::move(how)),
        scores_(std::move(scores)),
        played_(as_size(scores_.size())),
        recorded_at_(played_) {}

  const cast_scores& scores() const { return scores_; }

  // Any thread may call this between calls of the others. The step is the one behind the last that began.
  found_step find(step_headers of) const {
    const auto began = std::chrono::steady_clock::now();
    found_step out{std::move(of), {}};
    conduct_told& told = out.told;
    score_orders orders(scores_, out.of, how_.orders);
    const bool awaits_times = how_.every > 0 && !scores_.measured(playing_);
    if (scores_.size() > 1) told.score = how_.by({scores_, out.of, playing_, awaits_times, &orders});
    told.changed = told.score != playing_;
    told.measured = out.ordered.measured = scores_.measured();
    // A conductor may pick what is not there, which the step refuses.
    if (scores_.has(told.score)) {
      const ordered_step& taken = orders.of(told.score);
      out.order = taken.order;
      told.planned_seconds = orders.of(0).seconds;
      told.seconds = out.ordered.seconds = taken.seconds;
      out.ordered.uneven = taken.uneven;
      const auto as_listed = [&](const program_order& by) { return by.as_listed(out.of); };
      const ordered_step listed = how_.orders.wanted() ? scores_.ordered(told.score, as_listed) : taken;
      out.ordered.listed_seconds = listed.seconds;
      out.ordered.listed_uneven = listed.uneven;
    }
    told.search_seconds = out.ordered.search_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return out;
  }
  // This step is the next one; whether it is to be recorded. The last one that was counts for all that are
  // found from here on, so that processes which expect a step and those which do not find with the same
  // costs.
  bool begin(const found_step& next) {
    if (recorded_) learn(recorded_->first, recorded_->second);
    recorded_.reset();
    doubt_old();
    playing_ = next.score();
    if (!scores_.has(playing_)) return false;
    // The first step of a score takes memory, and is none to measure by. One that is tried again is measured
    // at once, so that it is left again where it takes longer.
    const isize before = played_[as_size(playing_)]++;
    const bool learns = how_.every > 0 && before > 0 &&
                        (before < 4 || steps_ % how_.every == 0 || !scores_.measured(playing_));
    ++steps_;
    return learns;
  }
  // The step that began was recorded.
  void note(found_step of, timeline when) { recorded_.emplace(std::move(of), std::move(when)); }

 private:
  void learn(const found_step& of, const timeline& when) {
    scores_.note(of.score(), of.of, of.order, when);
    recorded_at_[as_size(of.score())] = steps_;
  }
  void doubt_old() {
    if (how_.every == 0 || how_.doubts_after == 0) return;
    for (std::int32_t k = 0; k < scores_.size(); ++k)
      if (scores_.measured(k) && steps_ - recorded_at_[as_size(k)] >= how_.doubts_after) scores_.doubt(k);
  }

  conduct_options how_;
  cast_scores scores_;
  std::int32_t playing_ = 0;
  isize steps_ = 0;
  std::vector<isize> played_;                                  // by each score
  std::vector<isize> recorded_at_;                             // likewise, the last step that was
  std::optional<std::pair<found_step, timeline>> recorded_{};  // the clocks do not know it yet
};

}  // namespace motet
