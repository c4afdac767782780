// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/model.hpp>
#include <motet/nn/patch_embedding.hpp>
#include <motet/nn/token_embedding.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/runtime/parts.hpp>

#include <cmath>
#include <span>

namespace motet {

// Where the first number that is not finite lies; -1 where all are.
template <class T>
index first_not_finite(const T* data, index count) {
  for (index i = 0; i < count; ++i)
    if (!std::isfinite(static_cast<double>(data[i]))) return i;
  return -1;
}

struct bad_tensor {
  std::string name;
  index element = 0;
  double value = 0;
  index bad = 0;  // tensors of this kind with such a number
  index tensors = 0;
};

// Over named tensors of a flat buffer, those that start below `end`.
template <class T>
bad_tensor first_bad_tensor(std::span<const parameter> parameters, const T* data, index end) {
  bad_tensor found;
  for (const parameter& each : parameters) {
    if (each.offset >= end) continue;
    ++found.tensors;
    const index at = first_not_finite(data + each.offset, each.size());
    if (at < 0) continue;
    if (++found.bad > 1) continue;
    found.name = each.name;
    found.element = at;
    found.value = static_cast<double>(data[each.offset + at]);
  }
  return found;
}

// Says what spoilt a step, in the order in which a cause comes before its effects: the input, the weights, then the gradients.
template <class Model, class Master>
[[noreturn]] void report_not_finite(const typename Model::batch& whole, std::span<const parameter> parameters, const Master* weights,
                                    const Master* gradients, double loss, index updates) {
  const std::string step = "in step " + std::to_string(updates + 1) + " (loss " + std::to_string(loss) + ")";
  const auto look = [&](const auto& input, std::string_view module_name, index pixels) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(input)>, pictures>) {
      if (input.are_packed()) return;  // bytes are finite
      const index at = first_not_finite(input.pixels, input.samples * pixels);
      if (at >= 0) {
        fail(not_finite,
             "the first bad tensor is the input of \"" + std::string(module_name) + "\", sample " + std::to_string(at / pixels) + ", " + step);
      }
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto one = [&]<std::size_t At>() {
      using module_type = typename Model::template module_at<At>;
      if constexpr (std::is_same_v<typename module_type::input, pictures>) {
        look(std::get<At>(whole), module_type::name, input_traits<typename module_type::net>::pixels);
      }
    };
    (one.template operator()<I>(), ...);
  }(std::make_index_sequence<Model::size>{});
  const auto tell = [&](const bad_tensor& bad, const char* kind) {
    fail(not_finite, std::string("the first bad tensor is the ") + kind + " " + bad.name + ", element " + std::to_string(bad.element) + " is " +
                         std::to_string(bad.value) + ", " + std::to_string(bad.bad) + " of " + std::to_string(bad.tensors) + " are bad, " + step);
  };
  if (const bad_tensor bad = first_bad_tensor(parameters, weights, Model::parameter_size); bad.bad > 0) tell(bad, "weight");
  if (const bad_tensor bad = first_bad_tensor(parameters, gradients, Model::trainable_size); bad.bad > 0) tell(bad, "gradient of");
  fail(not_finite, "weights and gradients are finite, the loss or the sum of their squares is not, " + step);
}

}  // namespace motet
