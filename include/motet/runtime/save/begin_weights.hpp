// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint.hpp>
#include <motet/runtime/save/held_tensors.hpp>
#include <motet/runtime/state/trained_state.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace motet {

// A module of a model that gets the weights that a module of a checkpoint has.
struct given_module {
  std::string name;  // in the model
  std::string as;    // in the checkpoint
};
struct given_weights {
  std::vector<given_module> modules;
  std::map<std::string, std::string> names;  // of tensors: in the model, and in the checkpoint
};

namespace detail {

inline std::string_view module_of(std::string_view parameter) {
  return parameter.substr(0, parameter.find('.'));
}
inline std::string under(std::string_view module, std::string_view parameter) {
  return std::string(module) + std::string(parameter.substr(module_of(parameter).size()));
}
template <class Named>
std::vector<std::string> modules_named(const std::vector<Named>& all) {
  std::vector<std::string> out;
  for (const Named& each : all)
    if (const std::string_view module = module_of(each.name); std::ranges::find(out, module) == out.end())
      out.emplace_back(module);
  return out;
}
inline std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& each : names) out += (out.empty() ? "" : ", ") + each;
  return out.empty() ? "none" : out;
}

}  // namespace detail

// What a checkpoint of any other model has for this one: modules of the same name, or the one that is asked
// for. A module is there whole, every tensor with its name and shape, or it is not given; `adapters` are
// tensors that it may lack, all of them, and what the checkpoint has besides does not matter. MT-R58 where a
// module is there in part, where the one that was asked for is not, or where there is none. All ranks find
// the same.
inline given_weights weights_given(const checkpoint& from, const std::vector<parameter>& model,
                                   const begin_options& how = {},
                                   const std::set<std::string>& adapters = {}) {
  std::unordered_map<std::string_view, const checkpoint_tensor*> there;
  for (const checkpoint_tensor& each : from.weights()) there.emplace(each.name, &each);
  const std::vector<std::string> all = detail::modules_named(model);
  if (!how.module.empty() && std::ranges::find(all, how.module) == all.end())
    fail(weights_not_given, sentence({"module ", how.module, ", and the model has ", detail::listed(all)}));

  given_weights out;
  for (const std::string& name : all) {
    if (!how.module.empty() && name != how.module) continue;
    const std::string source(how.module.empty() || how.as.empty() ? std::string_view(name) : how.as);
    const auto in_module = [&](const parameter& each) { return detail::module_of(each.name) == name; };
    // Either all adapters are there, or none is asked for.
    const bool adapted = std::ranges::any_of(model, [&](const parameter& each) {
      return in_module(each) && adapters.contains(each.name) &&
             there.contains(detail::under(source, each.name));
    });
    bool any = false;
    std::string faults;
    std::map<std::string, std::string> names;
    for (const parameter& each : model) {
      if (!in_module(each) || (!adapted && adapters.contains(each.name))) continue;
      const std::string wanted = detail::under(source, each.name);
      const auto found = there.find(wanted);
      if (found == there.end()) {
        faults += "\n  missing     " + wanted + " " + shape_text(shape_of(each));
        continue;
      }
      any = true;
      const checkpoint_tensor& tensor = *found->second;
      if (tensor.shape != shape_of(each) || tensor.kind != dtype::f32)
        faults += "\n  differs     " + wanted + " is " + std::string(name_of(tensor.kind)) + " " +
                  shape_text(tensor.shape) + ", wanted F32 " + shape_text(shape_of(each));
      names.emplace(each.name, wanted);
    }
    if (faults.empty()) {
      out.modules.push_back({name, source});
      out.names.merge(names);
    } else if (any || !how.module.empty()) {
      fail(weights_not_given, sentence({"module ", name, " as ", source, " of ", from.path().string(),
                                        " has it", any ? " in part:" : " not:", faults, "\n"}));
    }
  }
  if (out.modules.empty())
    fail(weights_not_given, sentence({from.path().string(), " has modules ",
                                      detail::listed(detail::modules_named(from.weights())),
                                      ", and the model has ", detail::listed(all)}));
  if (how.which == weights_of::averages && !from.has_averages())
    fail(checkpoint_without_averages, from.path().string());
  return out;
}

// Fills what one rank holds of them; other weights stay as they are. Everything is compared and checked
// before anything is written.
inline void fill_given(std::span<const parameter_piece<float>> pieces, const given_weights& given,
                       const checkpoint& from, weights_of which = weights_of::last_step) {
  std::set<std::string> averages;
  if (which == weights_of::averages)
    for (std::string& each : from.averages()) averages.insert(std::move(each));
  held_tensors<float> wanted;
  for (const parameter_piece<float>& piece : pieces) {
    std::vector<parameter> last, followed;
    for (parameter each : piece.parameters) {
      const auto found = given.names.find(each.name);
      if (found == given.names.end()) continue;
      each.name = found->second;
      const bool has_average = averages.contains(each.name + ".ema");
      (has_average ? followed : last).push_back(std::move(each));
    }
    append_weights(wanted.weights, last, piece);
    append_weights(wanted.moments, followed, piece, ".ema");
  }
  from.load_slices(from.model(), wanted.weights, wanted.moments);
}

}  // namespace motet
