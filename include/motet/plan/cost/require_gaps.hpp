// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/profile.hpp>
#include <motet/plan/cost/profiled_module.hpp>
#include <motet/plan/describe/messages.hpp>
#include <motet/plan/prove/require_plan.hpp>

#include <string>

namespace motet {

namespace detail {

// What a module cannot be planned so for, in a sentence; no text: it can.
inline std::string misfit_of(const measured_gaps& gaps, module_facts facts) {
  facts.from.clear();
  facts.meets = true;
  facts.join = 0;
  const gap_degrees& under = gaps.under;
  const std::int32_t data = under.data > 1 ? under.data : under.experts;
  plan alone{{.ranks = data * under.context * under.tensor}, "batch_sync", {}};
  alone.modules.push(
      on_ranks(facts.name, 0, {.data = data, .context = under.context, .tensor = under.tensor}));
  alone.modules[0].experts = under.experts;
  alone.modules[0].zero = under.zero;
  list<module_facts> all;
  all.push(facts);
  return explain_plan(alone, all, data);
}

}  // namespace detail

// Refuses gaps of modules that are neither of the model nor towers of the profile, and gaps under degrees
// that their module cannot have. `origin` is named.
// Asks for: facts of all modules of the model that is planned.
// Memory: a plan of one module for each entry, given back.
// Errors: MT-P97
// Example:
//   machine_profile gaps_for(const std::string& file, const list<module_facts>& facts) {
//     machine_profile out;
//     out.gaps.push({"talk", {.tensor = 2}, {.forward = 0.25}});
//     require_gaps_of(out, file, facts);
//     return out;
//   }
inline void require_gaps_of(const machine_profile& from, const std::string& origin,
                            const list<module_facts>& facts) {
  model_shape towers;
  for (const module_profile& each : from.modules) towers.towers.push(each.of);
  list<module_facts> known = facts;
  known.append(facts_of(towers).data(), towers.towers.size());
  for (isize i = 0; i < from.gaps.size(); ++i) {
    const measured_gaps& own = from.gaps[i];
    const auto refuse = [&](const std::string& what) {
      fail(gaps_unlike_model, sentence({"gaps[", i, "] of ", origin, " is of ", own.module.view(), what}));
    };
    const module_facts& found = profiled_module(known, own.module, refuse);
    if (const std::string wrong = detail::misfit_of(own, found); !wrong.empty())
      refuse(" under degrees that it cannot have: " + wrong);
  }
}

}  // namespace motet
