// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>
#include <motet/plan/describe/messages.hpp>
#include <motet/plan/disttrain/measured_pace.hpp>

#include <string>
#include <string_view>

namespace motet {

namespace detail {

inline const module_profile* find_named(const machine_profile& in, const label& name) {
  for (const module_profile& each : in.modules)
    if (each.of.name == name) return &each;
  return nullptr;
}

// A module has as many layers and key heads as the tower, and does about as much for a sample: a net's facts
// count key heads as heads.
inline void require_alike(const tower_outline& of, const module_facts& module, const std::string& origin) {
  const auto differs = [&](std::string_view what, auto measured, auto own) {
    fail(profile_unlike_model, sentence({module.name.view(), " of ", origin, " has ", what, " ", measured,
                                         ", and the module that is trained has ", own}));
  };
  if (of.layers != module.layers) differs("layers", of.layers, module.layers);
  if (of.keyed_heads() != module.key_heads) differs("key heads", of.keyed_heads(), module.key_heads);
  // Of a language model the products with its vocabulary count, too.
  const double blocks =
                   static_cast<double>(of.layers) * work_of_part(of, tower_part::block).forward_flops / 2,
               head = module.meets ? static_cast<double>(of.tokens * of.width * of.vocabulary) : 0,
               measured = blocks + head;
  if (measured > 1.5 * module.work || measured < module.work / 1.5)
    differs("about so many thousand multiplications for a sample:", static_cast<isize>(measured / 1e3),
            static_cast<isize>(module.work / 1e3));
}

}  // namespace detail

// Finds the pace of each module by the tower of a profile that has its name; what has none there is not
// measured. `origin` is named where a tower is not of the module, or was measured with other numbers than
// those of so many bytes that go between layers.
// Asks for: a profile that outlives the paces.
// Memory: some numbers for each module.
// Errors: MT-P95
// Example:
//   list<measured_pace> paces(const machine_profile& from, const list<module_facts>& facts) {
//     return paces_of(from, "profile.json", facts, 4);
//   }
inline list<measured_pace> paces_of(const machine_profile& from, const std::string& origin,
                                    const list<module_facts>& facts, double activation_bytes) {
  list<measured_pace> out;
  for (const module_facts& module : facts) {
    const module_profile* const found = detail::find_named(from, module.name);
    out.push({found, module.layers});
    if (found == nullptr) continue;
    if (from.activation_bytes != activation_bytes)
      fail(profile_unlike_model,
           sentence({module.name.view(), " of ", origin, " was measured with numbers of ",
                     static_cast<isize>(from.activation_bytes),
                     " bytes between layers, and the run has numbers of ",
                     static_cast<isize>(activation_bytes)}));
    detail::require_alike(found->of, module, origin);
  }
  return out;
}

}  // namespace motet
