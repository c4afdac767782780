// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/model_facts.hpp>

#include <string>

namespace motet {

// The module that an entry of a profile is of, by its name. Where there is none, refuse(", wanted one of
// ...") is called, which does not return.
// Asks for: a refusal that throws.
// Memory: a text of all names where none is right.
// Errors: none of its own.
// Example:
//   #include <motet/plan/describe/messages.hpp>
//   isize layers_of(const list<module_facts>& facts, label name) {
//     return profiled_module(facts, name, [](const std::string& what) { fail(times_unlike_model, what); }).layers;
//   }
template <class Refuse>
const module_facts& profiled_module(const list<module_facts>& known, const label& name, Refuse&& refuse) {
  std::string names;
  for (const module_facts& each : known) {
    if (each.name == name) return each;
    names += (names.empty() ? "" : ", ") + std::string(each.name.view());
  }
  refuse(", wanted one of " + names);
  return known[0];
}

}  // namespace motet
