// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/plan.hpp>
#include <motet/runtime/stage/module_choice.hpp>

#include <algorithm>

namespace motet {

// The choices are what a plan says of its modules beyond the order of its program.
inline std::vector<module_choice> choices_of(const plan& from) {
  std::vector<module_choice> all;
  for (const module_plan& each : from.modules) {
    module_choice& own = all.emplace_back();
    own.layers.assign(each.layers.begin(), each.layers.end());
    own.remade.assign(each.remade.begin(), each.remade.end());
    own.tensor = each.on.split().tensor;
    own.experts = each.experts;
    own.pieces = std::max(1, each.pieces);  // where none was chosen, all rows together
    own.balanced = each.balanced;
    own.long_rows = each.long_rows;
    own.shard_optimizer = each.zero > 0;
    own.shard_gradients = each.zero > 1;
    own.shard_weights = each.zero > 2;
  }
  return all;
}

}  // namespace motet
