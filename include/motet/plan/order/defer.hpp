// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/deal.hpp>
#include <motet/tensor/sequences.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace motet {

// A step has so many samples. Heavy ones wait by so many at a time, one for each replica; and none waits
// unless all steps of the window together then take less by this share.
struct deferral {
  std::int32_t samples = 1, together = 1;
  double worth = 0.01;
};

// The samples of these steps may wait for each other: so many steps, and a window does not reach over the end
// of an epoch. It follows from the step alone, so a run that goes on anywhere finds the same windows.
constexpr interval window_of_step(isize step, isize steps, isize steps_of_epoch) {
  const isize epoch = step / steps_of_epoch * steps_of_epoch, begin = epoch + (step - epoch) / steps * steps;
  return {begin, std::min(begin + steps, epoch + steps_of_epoch)};
}

// One giant sample makes a step as long as itself, whoever has it, and all other replicas wait. So the giants
// of a window of steps wait for its last step, where they are beside each other, and the lightest samples of
// the last step come earlier in their place. A sample waits, or comes early, by less than the window's steps;
// every step has as many samples as before. takes: from the samples of a step to its seconds, by the deal and
// the order that it will have; how many wait is what makes the sum of all steps least. The result is each
// step's samples, as they were listed, and follows from the costs alone.
// Asks for: costs of all samples of the window, in the order of the steps that they were drawn for.
// Memory: some numbers for each sample.
// Errors: none of its own.
// Example:
//   hands of_two_steps(const list<double>& costs) {
//     const auto longest = [&](const list<std::int32_t>& samples) {
//       list<double> own;
//       for (const std::int32_t each : samples) own.push(costs[each]);
//       const list<double> loads = loads_of(deal_largest_first(own, 4), own);
//       return *std::max_element(loads.begin(), loads.end());
//     };
//     return defer_heavy(costs, {.samples = 16, .together = 4}, longest);
//   }
template <class Takes>
hands defer_heavy(const list<double>& costs, const deferral& how, const Takes& takes) {
  const auto steps = static_cast<std::int32_t>(costs.size() / how.samples);
  hands listed(steps);
  for (std::int32_t k = 0; k < steps * how.samples; ++k) listed[k / how.samples].push(k);
  if (steps < 2) return listed;
  list<double> seconds;  // of each step as listed
  for (const list<std::int32_t>& each : listed) seconds.push(takes(std::as_const(each)));
  const double whole = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const list<std::int32_t> heaviest = detail::largest_first(costs);
  // Of the last step, lightest first: these make room.
  list<std::int32_t> lightest = listed.back();
  std::stable_sort(lightest.begin(), lightest.end(),
                   [&](std::int32_t a, std::int32_t b) { return costs[a] < costs[b]; });
  hands best = listed;
  double least = whole * (1 - how.worth);
  list<std::uint8_t> heavy(costs.size(), 0);
  // At most so many numbers of waiting samples are looked at, evenly apart.
  constexpr std::int32_t most_looks = 64;
  const std::int32_t more =
      how.together * std::max(1, (how.samples / how.together + most_looks - 1) / most_looks);
  for (std::int32_t count = more; count <= how.samples; count += more) {
    for (std::int32_t k = count - more; k < count; ++k) heavy[heaviest[k]] = 1;
    hands tried = listed;
    list<std::int32_t>& last = tried.back();
    isize early = 0;
    double sum = 0;
    for (std::int32_t s = 0; s + 1 < steps; ++s) {
      for (std::int32_t& sample : tried[s]) {
        if (heavy[sample] == 0) continue;
        while (heavy[lightest[early]] != 0) ++early;
        *std::find(last.begin(), last.end(), lightest[early]) = sample;
        sample = lightest[early++];
      }
      std::sort(tried[s].begin(), tried[s].end());
      sum += tried[s] == listed[s] ? seconds[s] : takes(std::as_const(tried[s]));
    }
    std::sort(last.begin(), last.end());
    sum += last == listed.back() ? seconds.back() : takes(std::as_const(last));
    if (sum < least) least = sum, best = std::move(tried);
  }
  return best;
}

}  // namespace motet
