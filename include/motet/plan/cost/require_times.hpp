// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/profile.hpp>
#include <motet/plan/cost/profiled_module.hpp>
#include <motet/plan/describe/messages.hpp>

#include <string>

namespace motet {

// Refuses times of modules that the model does not have, and of modules of the same name in another model,
// which have other layers or other work; and times of other numbers than those of so many bytes that go
// between layers. `origin` is named. What a profile lacks is no matter: that is counted.
// Asks for: facts of all modules of the model that is planned.
// Memory: a sentence.
// Errors: MT-P95, MT-P103
// Example:
//   list<module_times> times_for(const std::string& file, const list<module_facts>& facts) {
//     machine_profile from;
//     from.times.push({.module = "talk", .layers = 2, .work = 1e6, .tensor = 2, .points = {{{8e6}, {1e-3}}}});
//     require_times_of(from, file, facts, 4);
//     return from.times;
//   }
inline void require_times_of(const machine_profile& from, const std::string& origin,
                             const list<module_facts>& facts, double activation_bytes) {
  if (!from.times.empty() && from.activation_bytes != activation_bytes)
    fail(profile_unlike_model, sentence({"times of ", origin, " were measured with numbers of ",
                                         static_cast<isize>(from.activation_bytes),
                                         " bytes between layers, and the run has numbers of ",
                                         static_cast<isize>(activation_bytes)}));
  for (isize i = 0; i < from.times.size(); ++i) {
    const module_times& own = from.times[i];
    const auto refuse = [&](const std::string& what) {
      fail(times_unlike_model, sentence({"times[", i, "] of ", origin, " is of ", own.module.view(), what}));
    };
    const module_facts& found = profiled_module(facts, own.module, refuse);
    if (own.layers != found.layers)
      refuse(sentence({" with layers ", own.layers, ", and the module that is planned has ", found.layers}));
    const double more = own.work > found.work ? own.work - found.work : found.work - own.work;
    if (found.work > 0 && more > 1e-6 * found.work)
      refuse(sentence({" with ", static_cast<isize>(own.work),
                       " multiplications for a sample, and the module that is planned has ",
                       static_cast<isize>(found.work)}));
  }
}

// The same of a model's towers, which count their work by themselves.
inline void require_times_of(const machine_profile& from, const std::string& origin,
                             const model_shape& model) {
  require_times_of(from, origin, facts_of(model), from.activation_bytes);
  for (isize i = 0; i < from.times.size(); ++i)
    for (const tower_outline& each : model.towers)
      if (each.name == from.times[i].module && !is_of(from.times[i], each))
        fail(times_unlike_model,
             sentence({"times[", i, "] of ", origin, " is of ", each.name.view(), " with ",
                       static_cast<isize>(from.times[i].work),
                       " multiplications for a sample, and the tower has ",
                       static_cast<isize>(work_of_layers(each, 0, each.layers).forward_flops / 2)}));
}

}  // namespace motet
