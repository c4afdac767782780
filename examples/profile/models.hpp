// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train_clip/models.hpp"

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/model/module.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/describe/tower_of.hpp>
#include <motet/runtime/stage/profile_module.hpp>

// The models that can be measured. Each is compiled in a unit of its own; null where a program was linked
// without one (MOTET_MODELS).
namespace motet::profile_program {

using measure_function = list<module_profile> (*)(const profile_options&, bool half);

template <vit_config Picture, text_config Caption>
list<module_profile> measure_towers(const profile_options& how, bool half) {
  using picture = module<"picture", vit<Picture>>;
  using caption = module<"caption", text_tower<Caption>>;
  const auto measure = [&]<class Module>() {
    return half ? profile_module<Module, cpu::context, mixed_bf16>(tower_of<Module>(), how)
                : profile_module<Module, cpu::context, fp32>(tower_of<Module>(), how);
  };
  return {measure.template operator()<picture>(), measure.template operator()<caption>()};
}

[[gnu::weak]] list<module_profile> measure_quick(const profile_options& how, bool half);
[[gnu::weak]] list<module_profile> measure_tiny(const profile_options& how, bool half);
[[gnu::weak]] list<module_profile> measure_small(const profile_options& how, bool half);

struct measured_model {
  std::string_view name;
  measure_function measure;
};
inline constexpr measured_model models[] = {
    {"quick", measure_quick}, {"tiny", measure_tiny}, {"small", measure_small}};

}  // namespace motet::profile_program
