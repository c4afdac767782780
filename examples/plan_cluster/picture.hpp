// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answer.hpp"

#include <motet/plan/cost/plan_costs.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/schedule/draw/draw_svg.hpp>

namespace motet::plan_cluster {

// Where there are more ranks, those that do the same are drawn once.
inline constexpr std::int32_t most_drawn_ranks = 64;

// The best plan's step as it was simulated; `model` and `play` are those of the search.
inline std::string draw_best(const answer& of, const model_shape& model, const estimate_options& play) {
  const list<module_facts> facts = facts_of(model);
  const plan best = arranged(of.found.plans[0].how, facts);
  enforce(check_plan(best, facts, of.batch), "the best plan");
  const plan_pricer by(best, model, of.machine, of.wishes.bytes, of.batch, play);
  const bool folds = best.cluster.ranks > most_drawn_ranks;
  const folded_plan drawn =
      folds ? fold_plan(best, [&](isize k, std::int32_t replica) { return by.key(k, replica); })
            : unfolded_plan(best);
  program made;
  enforce(write_program(drawn, facts, made), "the best plan");
  for (voice& each : made.voices) each.name = facts[each.module].name;
  timeline when;
  simulate(made, price(by, drawn, made).costs, when);
  svg_style style;
  style.title = of.model + " on " + of.cluster + ", " + std::to_string(of.batch) + " samples a step";
  if (folds)
    style.title +=
        ", " + std::to_string(made.ranks()) + " kinds of " + std::to_string(best.cluster.ranks) + " ranks";
  style.unit = "s";
  // Numbers that people read.
  for (const char* smaller : {"ms", "us"}) {
    if (when.makespan >= 1) break;
    style.unit = smaller;
    when.makespan *= 1000;
    for (double& each : when.start) each *= 1000;
    for (double& each : when.finish) each *= 1000;
  }
  return draw_svg(made, when, style);
}

}  // namespace motet::plan_cluster
