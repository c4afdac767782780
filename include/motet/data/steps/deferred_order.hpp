// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/steps/run_order.hpp>
#include <motet/plan/order/defer.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace motet {

// Samples wait for each other in windows of so many steps; of each step, `together` replicas are dealt
// samples.
struct step_windows {
  isize steps = 1;  // 1: none waits
  std::int32_t together = 1;

  bool any() const { return steps > 1; }
  // Tells other windows, over steps of `batch` samples, apart; 0: none.
  std::uint64_t mark(isize batch) const {
    return any() ? mixed_bits(mixed_bits(static_cast<std::uint64_t>(steps * batch)) +
                              static_cast<std::uint64_t>(batch) * 1024 + static_cast<std::uint64_t>(together))
                 : 0;
  }
};

// A run in which heavy samples wait for the last step of their window (plan/order/defer.hpp): which sample
// stands at a place of it. It follows from the place alone, so a run that goes on anywhere, on any number of
// processes, finds the same; and an epoch has each of its samples once. A step that reaches over the end of
// an epoch is in no window. Each thread has one.
// Asks for: what each sample of the data costs, in any unit.
// Memory: a number for each sample of a window.
// Errors: none of its own.
// Example:
//   isize first_of(const run_order& by, isize samples) {
//     return deferred_order(by, samples, 32, {.steps = 4, .together = 8}, [](isize) { return 1.0; })(0);
//   }
class deferred_order {
 public:
  using cost_of_sample = std::function<double(isize sample)>;

  deferred_order(run_order by, isize count, isize batch, const step_windows& windows, cost_of_sample cost)
      : by_(by), count_(count), batch_(batch), windows_(windows), cost_(std::move(cost)) {}

  isize operator()(isize place) {
    if (!windows_.any()) return by_(place);
    // Steps that are whole in this epoch.
    const isize epoch = place / count_, step = place / batch_, first = (epoch * count_ + batch_ - 1) / batch_,
                end = (epoch + 1) * count_ / batch_;
    if (step < first || step >= end) return by_(place);
    const interval window = window_of_step(step - first, windows_.steps, end - first);
    const interval places{(first + window.begin) * batch_, (first + window.end) * batch_};
    if (places.begin != begin_) choose(places);
    return chosen_[place - places.begin];
  }

 private:
  void choose(const interval& places) {
    list<isize> samples;
    list<double> costs;
    for (isize at = places.begin; at < places.end; ++at) {
      samples.push(by_(at));
      costs.push(cost_(samples.back()));
    }
    // A step takes what its busiest replica does.
    const auto takes = [&](const list<std::int32_t>& step) {
      list<double> own;
      for (const std::int32_t each : step) own.push(costs[each]);
      const list<double> loads = loads_of(deal_largest_first(own, windows_.together), own);
      return *std::max_element(loads.begin(), loads.end());
    };
    const deferral how{.samples = static_cast<std::int32_t>(batch_), .together = windows_.together};
    chosen_.clear();
    for (const list<std::int32_t>& step : defer_heavy(costs, how, takes))
      for (const std::int32_t each : step) chosen_.push(samples[each]);
    begin_ = places.begin;
  }

  run_order by_;
  isize count_, batch_;
  step_windows windows_;
  cost_of_sample cost_;
  isize begin_ = -1;  // of the window that is known
  list<isize> chosen_;
};

}  // namespace motet
