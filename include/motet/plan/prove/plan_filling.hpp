// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/plan.hpp>
#include <motet/schedule/core/costs.hpp>
#include <motet/schedule/core/score.hpp>

// What fills of a plan, and the times by which it does.
namespace motet::detail {

constexpr bool some_fill(const plan& of) {
  for (const module_plan& each : of.modules)
    if (each.fills) return true;
  return false;
}

// Each stage of a plan's order takes what the plan says, or a time in proportion to the modules' work, or to
// their layers.
constexpr cost_table costs_of_plan(const plan& from, const list<module_facts>& facts, const score& order) {
  double most = 0;
  for (const module_facts& each : facts) most = each.work > most ? each.work : most;
  cost_table made;
  for (const voice& each : order.voices()) {
    const module_plan& own = from.modules[each.module];
    const module_facts& of = facts[each.module];
    // A module that hardly has any counts a thousandth of the others' work.
    const double work = most == 0     ? static_cast<double>(of.layers)
                        : of.work > 0 ? of.work / most
                                      : 1e-3,
                 parts = static_cast<double>(each.microbatches) * own.on.split().data * own.shards(),
                 forward = own.forward_takes > 0 ? own.forward_takes : work / parts,
                 backward = own.backward_takes > 0 ? own.backward_takes : (each.fixed ? 1 : 2) * forward;
    for (std::int32_t s = 0; s < each.stages; ++s) {
      const double share = own.layers.empty()
                               ? 1.0 / each.stages
                               : static_cast<double>(own.layers[s]) / static_cast<double>(of.layers);
      made.stages.push({forward * share, backward * share / 2, backward * share / 2});
    }
  }
  return made;
}

}  // namespace motet::detail
