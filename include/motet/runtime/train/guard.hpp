// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/messages.hpp>
#include <motet/runtime/stage/model_table.hpp>

#include <exception>
#include <span>

namespace motet {

struct bad_tensor {
  std::string name;
  isize element = 0;
  double value = 0;
  isize bad = 0;  // tensors of this kind with such a number
  isize tensors = 0;
};

// Looks over named tensors of a flat buffer, those that start below `end`.
template <class T>
bad_tensor first_bad_tensor(std::span<const parameter> parameters, const T* data, isize end) {
  bad_tensor found;
  for (const parameter& each : parameters) {
    if (each.offset >= end) continue;
    ++found.tensors;
    const isize at = first_not_finite(data + each.offset, each.size());
    if (at < 0) continue;
    if (++found.bad > 1) continue;
    found.name = each.name;
    found.element = at;
    found.value = static_cast<double>(data[each.offset + at]);
  }
  return found;
}

// Each module's input has this first sample with a number that is not finite; -1: none.
inline std::vector<isize> bad_samples_of(const model_outline& model, std::span<const void* const> inputs) {
  std::vector<isize> found;
  for (std::size_t k = 0; k < model.size(); ++k) found.push_back(model.nets[k]->first_bad_sample(inputs[k]));
  return found;
}

// Says what spoilt a step, in the order in which a cause comes before its effects: the input, the weights,
// then the gradients.
template <class Master>
[[noreturn]] void report_not_finite(std::span<const std::string_view> modules,
                                    std::span<const isize> bad_samples, std::span<const parameter> parameters,
                                    const Master* weights, isize size, const Master* gradients,
                                    isize trainable, double loss, isize updates) {
  const std::string step = "in step " + std::to_string(updates + 1) + " (loss " + std::to_string(loss) + ")";
  for (std::size_t k = 0; k < modules.size(); ++k)
    if (bad_samples[k] >= 0)
      fail(not_finite, "the first bad tensor is the input of \"" + std::string(modules[k]) + "\", sample " +
                           std::to_string(bad_samples[k]) + ", " + step);
  const auto tell = [&](const bad_tensor& bad, const char* kind) {
    fail(not_finite, std::string("the first bad tensor is the ") + kind + " " + bad.name + ", element " +
                         std::to_string(bad.element) + " is " + std::to_string(bad.value) + ", " +
                         std::to_string(bad.bad) + " of " + std::to_string(bad.tensors) + " are bad, " +
                         step);
  };
  if (const bad_tensor bad = first_bad_tensor(parameters, weights, size); bad.bad > 0) tell(bad, "weight");
  if (const bad_tensor bad = first_bad_tensor(parameters, gradients, trainable); bad.bad > 0)
    tell(bad, "gradient of");
  fail(not_finite, "weights and gradients are finite, the loss or the sum of their squares is not, " + step);
}

// Where a rank may refuse a step before it begins, all processes ask each other: none begins what another
// refused and would never join. refuse() throws on the ones that do.
template <class Host, class Refuse>
void refuse_together(Host& ranks, bool may_refuse, Refuse&& refuse) {
  if (!may_refuse) return refuse();
  std::exception_ptr why;
  double refused = 0;
  try {
    refuse();
  } catch (const error&) {
    why = std::current_exception();
    refused = 1;
  }
  ranks.sum(&refused, 1);
  if (why) std::rethrow_exception(why);
  if (refused > 0) fail(step_beyond_room, "a rank of another process says what it lacks");
}

}  // namespace motet
