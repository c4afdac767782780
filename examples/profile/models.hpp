// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train_clip/models.hpp"
#include "train_vlm/models.hpp"

#include <motet/backend/cpu/device.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/model/module.hpp>
#include <motet/nn/towers/decoder.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/describe/tower_of.hpp>
#include <motet/runtime/stage/profile_module.hpp>
#include <motet/runtime/stage/profile_pair.hpp>
#include <motet/tools/messages.hpp>

#include <string>

// The models that can be measured. Each is compiled in a unit of its own; null where a program was linked
// without one (MOTET_MODELS).
namespace motet::profile_program {

using measure_function = list<module_profile> (*)(const profile_options&, bool half);

template <class First, class Second>
list<module_profile> measure_both(const profile_options& how, bool half) {
  const auto measure = [&]<class Module>() {
    return half ? profile_module<Module, cpu::context, mixed_bf16>(tower_of<Module>(), how)
                : profile_module<Module, cpu::context, fp32>(tower_of<Module>(), how);
  };
  return {measure.template operator()<First>(), measure.template operator()<Second>()};
}
template <vit_config Picture, text_config Caption>
list<module_profile> measure_towers(const profile_options& how, bool half) {
  return measure_both<module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>(how, half);
}

// Names of two modules that are computed at once.
struct module_names {
  std::string first, second;
};
using pair_function = module_pair (*)(const module_names&, const pair_options&, bool half);

// The pair that is named, of the two modules of a model that have blocks.
template <class One, class Other>
module_pair measure_pair(const module_names& names, const pair_options& how, bool half) {
  const auto measure = [&]<class First, class Second>() {
    return half ? profile_pair<First, Second, cpu::device, mixed_bf16>(how)
                : profile_pair<First, Second, cpu::device, fp32>(how);
  };
  const std::string_view one = One::name, other = Other::name;
  if (names.first == one && names.second == other) return measure.template operator()<One, Other>();
  if (names.first == other && names.second == one) return measure.template operator()<Other, One>();
  fail(bad_option_value, "--pair wants " + std::string(one) + "," + std::string(other) + ", got \"" +
                             names.first + "," + names.second + "\"");
}
template <vit_config Picture, text_config Caption>
module_pair measure_towers_at_once(const module_names& names, const pair_options& how, bool half) {
  return measure_pair<module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>(names, how,
                                                                                               half);
}
// Blocks are those of the modules that train: an eye that gives rows, and a language model that takes them
// among its words.
template <decoder_config Words>
struct words_alone : decoder<Words>::logits {
  static constexpr decoder_config config = Words;
  static constexpr bool blocks_alone = true;  // its end has labels when it trains
};
template <vit_config Eye, decoder_config Words>
module_pair measure_eye_and_talk(const module_names& names, const pair_options& how, bool half) {
  return measure_pair<module<"eye", vit<Eye>>, module<"talk", words_alone<Words>>>(names, how, half);
}
template <vit_config Eye, decoder_config Words>
list<module_profile> measure_seeing(const profile_options& how, bool half) {
  return measure_both<module<"eye", vit<Eye>>, module<"talk", words_alone<Words>>>(how, half);
}

[[gnu::weak]] list<module_profile> measure_quick(const profile_options& how, bool half);
[[gnu::weak]] list<module_profile> measure_tiny(const profile_options& how, bool half);
[[gnu::weak]] list<module_profile> measure_small(const profile_options& how, bool half);
[[gnu::weak]] list<module_profile> measure_say_quick(const profile_options& how, bool half);
[[gnu::weak]] list<module_profile> measure_say_small(const profile_options& how, bool half);
[[gnu::weak]] module_pair pair_of_quick(const module_names&, const pair_options&, bool half);
[[gnu::weak]] module_pair pair_of_tiny(const module_names&, const pair_options&, bool half);
[[gnu::weak]] module_pair pair_of_small(const module_names&, const pair_options&, bool half);
[[gnu::weak]] module_pair pair_of_say_quick(const module_names&, const pair_options&, bool half);
[[gnu::weak]] module_pair pair_of_say_small(const module_names&, const pair_options&, bool half);

struct measured_model {
  std::string_view name;
  measure_function measure;
  pair_function at_once;
};
inline constexpr measured_model models[] = {{"quick", measure_quick, pair_of_quick},
                                            {"tiny", measure_tiny, pair_of_tiny},
                                            {"small", measure_small, pair_of_small},
                                            {"say-quick", measure_say_quick, pair_of_say_quick},
                                            {"say-small", measure_say_small, pair_of_say_small}};

}  // namespace motet::profile_program
