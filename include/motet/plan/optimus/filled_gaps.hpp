// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/profile.hpp>
#include <motet/plan/optimus/filled_model.hpp>

#include <string>

namespace motet {

// A profile's gaps inside operations for the searches of encoders in a language model's gaps. They are of
// parts of the model by their names, under tensor degrees that these searches give them; other times of a
// profile are of towers, and stay aside.
// Asks for: a profile of a run whose activations have two bytes, as those of these models.
// Memory: the entries.
// Errors: MT-P97
// Example:
//   filled_costs as_measured(const filled_model& of, const cluster_facts& on, const std::string& file,
//                            const machine_profile& from) {
//     return filled_costs(of, on, {}, gaps_of_filled(from, file, of, on));
//   }
inline list<measured_gaps> gaps_of_filled(const machine_profile& from, const std::string& origin,
                                          const filled_model& model, const cluster_facts& on) {
  const auto refuse = [](const std::string& what) { fail(gaps_unlike_model, what); };
  if (from.gaps.empty()) refuse(origin + " has none, and " + model.name + " has no use for its other times");
  constexpr isize activation_bytes = 2;
  if (from.activation_bytes != double{activation_bytes})
    refuse(sentence({origin, " is of activations of ", static_cast<isize>(from.activation_bytes),
                     " bytes, those of ", model.name, " have ", activation_bytes}));
  const isize node = as_one_kind(on).devices_per_node;
  for (isize i = 0; i < from.gaps.size(); ++i) {
    const measured_gaps& own = from.gaps[i];
    const std::string which = sentence({"gaps[", i, "] of ", origin, " is of ", own.module.view()});
    const layered_model* found = own.module == model.language.name ? &model.language : nullptr;
    std::string names;
    for (const layered_model& each : model.encoders) {
      if (own.module == each.name) found = &each;
      names += std::string(each.name.view()) + ", ";
    }
    if (found == nullptr)
      refuse(which + ", wanted one of " + names + std::string(model.language.name.view()));
    const isize tensor = own.under.tensor;
    if (!(own.under == gap_degrees{.tensor = own.under.tensor}) ||
        (found->encodes ? node % tensor != 0 : tensor != node))
      refuse(sentence({which, " under degrees that no plan has here, wanted tensor ",
                       found->encodes ? "a divisor of " : "", node, " and nothing else"}));
  }
  return from.gaps;
}

}  // namespace motet
