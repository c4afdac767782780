// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>

#include <cstdint>

namespace motet {

// What a conductor changed in a step, by the costs that were known before it, and what it took.
struct conduct_told {
  std::int32_t score = 0;
  bool changed = false;  // the step before played another one
  // The times by the plan's own score, and by this one, each in its own order of samples; by simulate().
  double planned_seconds = 0, seconds = 0;
  bool measured = false;      // costs come from the clock; else seconds are of an unknown unit
  double search_seconds = 0;  // that the conductor took, beside the step before or in it
  double waited_seconds = 0;  // of these, that the step did not begin

  double gained() const { return seconds > 0 ? planned_seconds / seconds : 1; }
};

// The same of all steps of a run.
// Asks for: nothing.
// Memory: a number for each score.
// Errors: none of its own.
// Example:
//   isize changes_of(const conduct_told& first, const conduct_told& second) {
//     conduct_sums all;
//     all.add(first);
//     all.add(second);
//     return all.changes;
//   }
struct conduct_sums {
  isize steps = 0, changes = 0, measured = 0;
  list<isize> played{};                     // by each score
  double planned_seconds = 0, seconds = 0;  // of steps whose costs came from the clock
  double search_seconds = 0, waited_seconds = 0;

  void add(const conduct_told& step) {
    ++steps;
    changes += step.changed ? 1 : 0;
    if (played.size() <= step.score) played.resize(step.score + 1, 0);
    ++played[step.score];
    search_seconds += step.search_seconds;
    waited_seconds += step.waited_seconds;
    if (!step.measured) return;
    ++measured;
    planned_seconds += step.planned_seconds;
    seconds += step.seconds;
  }
  double gained() const { return seconds > 0 ? planned_seconds / seconds : 1; }
};

}  // namespace motet
