// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "choose_plan.hpp"
#include "explain_learning.hpp"

#include <motet/front/explain_plan.hpp>
#include <motet/tools/long_work.hpp>
#include <motet/tools/this_machine.hpp>

#include <thread>

// What a plan means for every rank, found without training.
namespace motet::train_clip {

inline void print_head(const chosen_plan& chosen, const settings& s) {
  const plan& of = chosen.value;
  std::printf("plan      %s%s%s\n", chosen.name.c_str(), chosen.about.empty() ? "" : ": ",
              chosen.about.c_str());
  std::printf("model     %s, a batch of %td\n", s.model.c_str(), s.batch);
  std::printf("ranks     %d%s\n", of.cluster.ranks,
              of.cluster.ranks_per_node > 0
                  ? (", " + std::to_string(of.cluster.ranks_per_node) + " on a node").c_str()
                  : "");
  print_plan(stdout, of, s.batch);
}

// The plan, who holds what, and what a step takes. `model` was not started.
inline void explain_plan(const chosen_plan& chosen, const settings& s, session& model, long_work& waits) {
  const program& of = model.of();
  waits.at(sentence({"counting the memory of ", of.ranks(), " ranks"}));
  const std::vector<rank_memory> memory = model.memory();
  waits.at(sentence({"simulating a step of ", of.ranks(), " ranks"}));
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto facts = this_program.facts(find_model(s.model));
  const plan_meaning meaning{
      chosen.value, facts, of, memory, model.work(), {model.measure_peak() / model.threads(), copy_rate()}};
  waits.finish();
  print_head(chosen, s);
  explain_learning(s);
  print_meaning(stdout, meaning, processors);
  std::printf("\n%s", format_plan(chosen.value).c_str());
}

}  // namespace motet::train_clip
