// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/score_orders.hpp>

#include <concepts>
#include <cstdint>
#include <functional>

namespace motet {

// What a conductor is told of a step that comes.
struct coming_step {
  const cast_scores& scores;
  const step_headers& of;    // of its samples
  std::int32_t playing = 0;  // the score of the step before it
  // What that one takes is not known yet, and steps that play it will tell.
  bool awaits_times = false;
  // The orders in which each score would take the samples, where not as they are listed.
  score_orders* orders = nullptr;

  // What the step takes by a score, by simulate(), in its own order of samples.
  double seconds(std::int32_t score) const {
    return orders != nullptr ? orders->of(score).seconds : scores.seconds(score, of);
  }
};

// A conductor says which score a step plays, by its number. It is a function of what it is told and of
// nothing else, since each process asks its own, and all must play the same.
template <class T>
concept conductor = requires(T& by, const coming_step& next) {
  { by(next) } -> std::convertible_to<std::int32_t>;
};

// The identity: each step plays the plan's own score.
struct as_planned {
  constexpr std::int32_t operator()(const coming_step&) const { return 0; }
};

// The score that simulate() finds shortest; the one that plays goes on unless another is shorter by more than
// the margin, so that scores do not change for what a simulation cannot know, and until it was recorded, so
// that those which were tried are compared by what they took.
// Asks for: nothing.
// Memory: that of a simulation, for as long as it lasts.
// Errors: none of its own.
// Example:
//   std::int32_t next_score(const coming_step& next) { return shortest_by_simulation{.margin = 0.1}(next); }
struct shortest_by_simulation {
  double margin = 0.02;  // share of the time of the one that plays

  std::int32_t operator()(const coming_step& next) const {
    if (next.awaits_times) return next.playing;
    const double goes_on = next.seconds(next.playing);
    std::int32_t best = next.playing;
    double least = goes_on * (1 - margin);
    for (std::int32_t k = 0; k < next.scores.size(); ++k) {
      if (k == next.playing) continue;
      if (const double own = next.seconds(k); own < least) best = k, least = own;
    }
    return best;
  }
};

static_assert(conductor<as_planned> && conductor<shortest_by_simulation>);

// Any conductor, of the library or of a program's own.
using any_conductor = std::function<std::int32_t(const coming_step&)>;

}  // namespace motet
