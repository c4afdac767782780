// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/prove/plan_score.hpp>
#include <motet/schedule/place/fewest_slices.hpp>

namespace motet {

namespace detail {

// It says of no stage anything, and their number is open.
constexpr bool leaves_slices_open(const module_plan& of) {
  return of.fills && of.chunks == 0 && of.layers.empty() && of.remade.empty();
}
constexpr double longest_slice(const plan& of, const list<module_facts>& facts, const score& order,
                               isize module) {
  const cost_table costs = costs_of_plan(of, facts, order);
  double longest = 0;
  for (const voice& each : order.voices())
    for (std::int32_t s = 0; s < each.stages && each.module == module; ++s) {
      const stage_cost& own = costs.stages[each.first_place + s];
      const double back = each.learns ? own.backward_input + own.backward_weight : 0;
      longest = own.forward > longest ? own.forward : longest;
      longest = back > longest ? back : longest;
    }
  return longest;
}
// `of` has a number for every other module.
constexpr int best_slices(plan of, const list<module_facts>& facts, isize samples, isize module) {
  const isize most = facts[module].layers / of.modules[module].on.split().stages;
  return fewest_slices(most, [&](int slices, filled_score& found) {
    of.modules[module].chunks = slices;
    return write_filled(of, facts, found, samples, false).ok() ? longest_slice(of, facts, found.order, module)
                                                               : -1.0;
  });
}

}  // namespace detail

// The plan with one slice for each module that leaves their number open (chunks 0).
constexpr plan with_whole_stages(plan of) {
  for (module_plan& each : of.modules)
    if (detail::leaves_slices_open(each)) each.chunks = 1;
  return of;
}
// The plan with a number of slices for each module that leaves it open: one, two, four and so on are tried,
// until a slice is shorter than four fifths of the gaps that the others leave. The fewest with which the step
// is shortest, by the plan's own times, which all ranks know; so they choose alike. One, where there is no
// order.
// Asks for: a plan that passes check_plan() with whole stages.
// Memory: an order for each try, given back at the end.
// Errors: none of its own.
// Example:
//   int slices_of_eye(const plan& of, const list<module_facts>& facts) {
//     return with_chosen_slices(of, facts, 512).modules[0].chunks;
//   }
constexpr plan with_chosen_slices(const plan& from, const list<module_facts>& facts, isize samples) {
  plan of = with_whole_stages(from);
  for (isize k = 0; k < of.modules.size(); ++k)
    if (detail::leaves_slices_open(from.modules[k]))
      of.modules[k].chunks = detail::best_slices(of, facts, samples, k);
  return of;
}

}  // namespace motet
