// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/messages.hpp>
#include <motet/runtime/stage/module_choice.hpp>
#include <motet/runtime/state/optimizer.hpp>
#include <motet/runtime/train/rank_homes.hpp>
#include <motet/strategy/resplit.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace motet {

struct pipeline_config {
  // samples of a step, cut evenly into the program's groups, and these into replicas and microbatches
  isize batch = 64;
  std::vector<module_choice> modules{};  // of each module, what the program leaves open
  std::uint64_t seed = 1;
  optimizer_settings optimizer{};
  double ema = 0;       // decay of the moving average of the weights; 0: there is none
  bool update = true;   // false: gradients are left for the caller
  rank_options each{};  // rank that lives here
  // seconds for a step; then the ranks are stopped and who waits for whom is told. 0: none
  double deadline = 600;
  resplit_options resplit{};  // whether samples move between replicas by the time that they take, and how far
};

// A GPU's ranks have no threads of the host.
inline pipeline_config checked(pipeline_config config, bool on_host) {
  const int most = on_host ? 4096 : 1;
  if (config.each.threads < 1 || config.each.threads > most)
    fail(bad_training_option, "ranks with " + std::to_string(config.each.threads) +
                                  " threads each, wanted 1 to " + std::to_string(most));
  return config;
}

}  // namespace motet
