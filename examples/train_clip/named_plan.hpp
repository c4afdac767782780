// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/plan.hpp>

#include <span>
#include <string_view>

namespace motet::train_clip {

// One of those that --plan chooses from.
struct named_plan {
  std::string_view name, about;
  plan (*make)();
};

constexpr const named_plan* find_plan(std::span<const named_plan> among, std::string_view name) {
  for (const named_plan& each : among)
    if (each.name == name) return &each;
  return nullptr;
}

}  // namespace motet::train_clip
