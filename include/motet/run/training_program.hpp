// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/plan_of.hpp>
#include <motet/run/session.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace motet {

// A model that a program trains, compiled in a unit of its own for processors, and perhaps in another one for
// GPUs.
struct trained_model {
  std::string_view name;
  session_maker make, on_gpu;     // null: not compiled
  list<module_facts> (*facts)();  // what plans must know of it: facts_of<Model>
  std::string_view loss{};        // that it has whatever the program's are; empty: one of those
};

// A program that goes on from what a run left; its name, and what its command line says besides.
struct next_program {
  std::string_view name, arguments;
  bool reads_report = false;  // --run REPORT, instead of --checkpoint RUN
  std::string_view of{};      // models whose names begin so; empty: any
};

// These make a training program of a run: its models, and the words that are its own.
struct training_program {
  const char *name, *about;
  std::span<const trained_model> models;     // the first one is trained where --model says nothing
  std::span<const named_plan> plans;         // empty: those that any model has
  std::span<const std::string_view> losses;  // likewise; one alone is no option
  std::span<const next_program> next{};      // as they lie beside this one
  bool speaks = false;                       // reads samples of any pieces, instead of pairs
  // --help says these of some options.
  std::string_view models_help = "what is trained", losses_help = "what is made small",
                   batch_help = "samples in a step",
                   data_help = "shards with tokenizer.json, a pattern of shards, or: random";
  // Tells how to build it with a model that it was compiled without.
  std::string (*rebuild)(std::string_view model) = nullptr;
};

// The command line allows no name that is not there.
inline const trained_model& find_model(const training_program& of, std::string_view name) {
  const auto found = std::find_if(of.models.begin(), of.models.end(),
                                  [&](const trained_model& each) { return each.name == name; });
  return found != of.models.end() ? *found : of.models.front();
}

}  // namespace motet
