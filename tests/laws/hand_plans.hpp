// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/plan.hpp>

#include <vector>

// Plans that tests write down module by module.
namespace motet::laws {

inline plan of(std::int32_t ranks, const char* schedule, std::vector<module_plan> modules) {
  plan made;
  made.cluster.ranks = ranks;
  made.schedule = schedule;
  for (module_plan& each : modules) made.modules.push(each);
  return made;
}
inline module_plan in_groups(int microbatches, module_plan one) {
  one.group = microbatches;
  return one;
}
inline module_plan with_zero(int level, module_plan one) {
  one.zero = level;
  return one;
}
inline module_plan sharing_experts(int replicas, module_plan one) {
  one.experts = replicas;
  return one;
}
inline module_plan in_pieces(int count, module_plan one) {
  one.pieces = count;
  return one;
}
inline module_plan stashed(int microbatches, module_plan one) {
  one.stash = microbatches;
  return one;
}
inline module_plan remade(module_plan one) {
  for (std::int32_t s = 0; s < one.on.split().stages; ++s) one.remade.push(1);
  return one;
}

}  // namespace motet::laws
