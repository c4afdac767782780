// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/estimate.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace motet {

// A pin settles values of one tower before the search; values that are left as they are here are searched.
struct tower_pin {
  label name = {};
  std::int32_t stages = 0, data = 0, context = 0, tensor = 0;
  std::int32_t ranks = 0;  // how many in all
  int experts = 0;         // so many replicas share them; 1: none do
  int microbatches = 0;    // of each replica in a step
  int stash = -2;          // of a group; -1: all of them
  int recompute = -1;      // 1: every stage makes again what backward needs, 0: none does
  int zero = -1;
  friend constexpr bool operator==(const tower_pin&, const tower_pin&) = default;
};

// A search tells where it stands.
struct search_news {
  std::string_view doing = {};  // what it does now, and for which of how many
  isize done = 0, all = 0;
  isize simulated = 0;      // plans that were played so far
  double best_seconds = 0;  // of a step of the best one; 0: there is none yet
};

struct search_options {
  isize top = 5;                // plans of the result, at most
  isize contrastive_batch = 0;  // samples that one loss sees together; 0: all of a step
  bool together = true;         // towers may share ranks
  bool apart = true;            // towers may have ranks of their own
  training_bytes bytes = {};
  list<tower_pin> pins = {};
  isize finalists = 24;  // plans that are simulated, about; on small clusters all that could be best
  estimate_options play = {};
  // The search asks it now and then. Where it says no the search ends, with the best plan so far, or else
  // with the first one that it finds. Without it the search has no limit.
  std::function<bool(const search_news&)> goes_on = {};
};

// A setback is where a plan loses most of the time that it takes longer than the best one: in the work of its
// ranks; in forwards that run again because not everything fits (memory); waiting inside a tower (bubbles) or
// for the busiest rank (uneven towers); in sums of gradients; in exchanges of joins. Or it takes as long on
// more ranks.
enum class setback : std::uint8_t {
  none,
  work,
  bubbles,
  uneven_towers,
  reductions,
  exchange,
  memory,
  more_ranks
};

struct lost_by {
  setback cause = setback::none;
  double seconds = 0;           // that a step takes longer than the best plan's
  double own = 0, winners = 0;  // of the cause, seconds of a step; for more_ranks how many
};

struct ranked_plan {
  plan how;
  run_forecast gives;
  lost_by why;  // against the first
};

struct search_result {
  list<ranked_plan> plans;     // best first
  isize considered = 0;        // combinations that were compared by their separate or joint times
  isize simulated = 0;         // of them, whose compiled program was played
  std::string not_tried = {};  // what a search left out that was ended early; else empty
};

constexpr std::string_view name_of(setback cause) {
  constexpr std::string_view names[] = {"none",       "work",     "bubbles", "uneven towers",
                                        "reductions", "exchange", "memory",  "more ranks"};
  return names[as_size(cause)];
}

}  // namespace motet
