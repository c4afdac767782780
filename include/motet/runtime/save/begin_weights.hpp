// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint.hpp>
#include <motet/meta/nearest.hpp>
#include <motet/runtime/save/held_tensors.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace motet {

// A module of a model that gets the weights that a module of a checkpoint has.
struct given_module {
  std::string name;  // in the model
  std::string as;    // in the checkpoint
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

// The modules of a model that a checkpoint of any other one has: all of the same name, or this one alone, which
// may have another name there. A module is there whole, every tensor with its name and shape, or it is not
// given; what the checkpoint has besides does not matter. MT-R58 where one is there in part, where the one
// that was asked for is not, or where there is none. All ranks find the same.
inline std::vector<given_module> modules_given(const checkpoint& from, const std::vector<parameter>& model,
                                               std::string_view module = {}, std::string_view as = {}) {
  std::unordered_map<std::string_view, const checkpoint_tensor*> there;
  for (const checkpoint_tensor& each : from.weights()) there.emplace(each.name, &each);
  const std::vector<std::string> all = detail::modules_named(model);
  if (!module.empty() && std::ranges::find(all, module) == all.end())
    fail(weights_not_given, sentence({"module ", module, ", and the model has ", detail::listed(all)}));

  std::vector<given_module> out;
  for (const std::string& name : all) {
    if (!module.empty() && name != module) continue;
    const std::string source(module.empty() || as.empty() ? std::string_view(name) : as);
    bool any = false;
    std::string faults;
    for (const parameter& each : model) {
      if (detail::module_of(each.name) != name) continue;
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
    }
    if (faults.empty()) out.push_back({name, source});
    else if (any || !module.empty())
      fail(weights_not_given, sentence({"module ", name, " as ", source, " of ", from.path().string(),
                                        " has it", any ? " in part:" : " not:", faults, "\n"}));
  }
  if (out.empty())
    fail(weights_not_given, sentence({from.path().string(), " has modules ",
                                      detail::listed(detail::modules_named(from.weights())),
                                      ", and the model has ", detail::listed(all)}));
  return out;
}

// Fills what one rank holds of these modules; other weights stay as they are. Everything is compared and
// checked before anything is written.
inline void fill_given(std::span<const parameter_piece<float>> pieces, std::span<const given_module> given,
                       const checkpoint& from) {
  std::vector<tensor_slice<float>> wanted;
  for (const parameter_piece<float>& piece : pieces) {
    std::vector<parameter> named;
    for (const parameter& each : piece.parameters)
      for (const given_module& one : given)
        if (detail::module_of(each.name) == one.name) {
          named.push_back(each);
          named.back().name = detail::under(one.as, each.name);
        }
    append_held<float>(wanted, named, {0, piece.size}, piece.weights);
  }
  from.load_slices(from.model(), wanted, {});
}

}  // namespace motet
