// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session.hpp"

#include <motet/plan/describe/plan.hpp>
#include <motet/runtime/ranks/launch.hpp>
#include <motet/runtime/stage/foretell.hpp>
#include <motet/runtime/train/placed_model.hpp>
#include <motet/tools/messages.hpp>

// A model on several ranks, as the program sees it: a session like any other, and what its plan needs and
// costs.
namespace motet::train_clip {

struct plan_task {
  session_config config;
  motet::plan value;  // proven
  launched by;
};

class plan_session : public session {
 public:
  virtual const program& of() const = 0;
  virtual std::vector<rank_memory> memory() const = 0;  // of each rank; of ranks in other processes nothing
  virtual program_work work() const = 0;
};

inline std::unique_ptr<plan_session> make_plan_session(const model_entry& of, const plan_task& task) {
  const auto spread = task.config.on_gpu ? &model_entry::spread_on_gpu : &model_entry::spread;
  if (of.*spread != nullptr) return (of.*spread)(task);
  std::string all;
  for (const model_entry& each : models)
    if (each.*spread != nullptr) all += (all.empty() ? "" : ", ") + std::string(each.name);
  fail(bad_option_value,
       std::string("--plan with --model ") + of.name + "; this program spreads the models " + all);
}

}  // namespace motet::train_clip
