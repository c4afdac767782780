// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/train/foretell.hpp>
#include <motet/schedule/simulate/simulate.hpp>

#include <doctest/doctest.h>

#include <cstddef>

namespace motet {

// A plan of two modules with its program, and work that no net was counted for: stage after stage other
// numbers.
struct counted_plan {
  plan from;
  program of;
  program_work work;

  timeline played(const cost_table& costs) const {
    timeline when;
    REQUIRE(simulate(of, costs, when).ok());
    return when;
  }
  double seconds(const cost_table& costs) const { return played(costs).makespan; }
};

inline list<module_facts> counted_modules() {
  list<module_facts> out;
  out.push({.name = "picture", .layers = 4, .key_heads = 4, .work = 3e6});
  out.push({.name = "caption", .layers = 2, .key_heads = 4, .work = 1e6});
  return out;
}

inline counted_plan count_plan(const module_plan& picture, const module_plan& caption,
                               const char* schedule = "gpipe") {
  counted_plan out;
  out.from = plan{{.ranks = 8}, schedule, {}};
  out.from.modules.push(picture);
  out.from.modules.push(caption);
  score order;
  REQUIRE(prove_plan(out.from, counted_modules(), 24).ok());
  REQUIRE(write_plan(out.from, counted_modules(), order).ok());
  out.of = compile(order);
  for (const voice& sings : out.of.voices) {
    const module_plan& own = out.from.modules[sings.module];
    for (std::int32_t s = 0; s < sings.stages; ++s) {
      // All microbatches together do the same.
      const double one = (sings.module == 0 ? 3e6 : 1e6) * (1 + s) / own.microbatches / own.on.split().data;
      stage_work made;
      made.forward = one;
      made.backward_input = 1.25 * one;
      made.backward_weight = 0.75 * one;
      made.forward_blocks.flops = 0.5 * one;
      made.input_blocks.flops = 0.625 * one;
      made.weight_blocks.flops = 0.375 * one;
      if (!own.remade.empty()) {
        made.again = one;
        made.backward_input += one;
        made.input_blocks.flops += 0.5 * one;
      }
      if (own.on.split().tensor > 1) made.forward_group_bytes = made.backward_group_bytes = 1e6;
      out.work.places.push_back(made);
      out.work.parameters.push_back(1000 * (1 + s));
    }
  }
  out.work.messages = list<double>(out.of.instructions.size(), 1e3);
  return out;
}

}  // namespace motet
