// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

namespace motet {

// What the order of a step changed, by the costs that were known before it, and what it took to find.
struct reorder_told {
  double listed_seconds = 0, seconds = 0;  // as its samples came, and as they were taken; by simulate()
  double listed_uneven = 1, uneven = 1;    // what the busiest rank computes, over the mean
  bool measured = false;                   // costs come from the clock; else seconds are of an unknown unit
  double search_seconds = 0;               // that the order was looked for, beside the step before or in it
  double waited_seconds = 0;               // of these, that the step did not begin

  double gained() const { return seconds > 0 ? listed_seconds / seconds : 1; }
};

// The same of all steps of a run.
// Asks for: nothing.
// Memory: none.
// Errors: none of its own.
// Example:
//   double gained(const reorder_told& first, const reorder_told& second) {
//     reorder_sums all;
//     all.add(first);
//     all.add(second);
//     return all.gained();
//   }
struct reorder_sums {
  isize steps = 0, measured = 0;
  double listed_seconds = 0, seconds = 0;  // of steps whose costs came from the clock
  double search_seconds = 0, waited_seconds = 0;

  void add(const reorder_told& step) {
    ++steps;
    search_seconds += step.search_seconds;
    waited_seconds += step.waited_seconds;
    if (!step.measured) return;
    ++measured;
    listed_seconds += step.listed_seconds;
    seconds += step.seconds;
  }
  double gained() const { return seconds > 0 ? listed_seconds / seconds : 1; }
};

}  // namespace motet
