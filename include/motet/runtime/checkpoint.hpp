// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint_write.hpp>
#include <motet/runtime/trained_state.hpp>

namespace motet {

namespace detail {

template <class Tensor, class Data>
void append_tensors(std::vector<Tensor>& out, const trained_state& from, Data* data, const char* suffix, index end) {
  for (const parameter& each : from.parameters) {
    if (each.offset >= end) continue;
    std::vector<index> shape = each.vector ? std::vector<index>{each.width} : std::vector<index>{each.rows, each.width};
    out.push_back({each.name + suffix, std::move(shape), data + each.offset});
  }
}
template <class Tensor>
std::vector<Tensor> weight_tensors(const trained_state& from) {
  std::vector<Tensor> out;
  append_tensors(out, from, from.weights, "", from.size);
  return out;
}
template <class Tensor>
std::vector<Tensor> moment_tensors(const trained_state& from) {
  std::vector<Tensor> out;
  append_tensors(out, from, from.first, ".m", from.trainable);
  append_tensors(out, from, from.second, ".v", from.trainable);
  return out;
}

}  // namespace detail

// All of a trainer goes into the checkpoint: weights (frozen ones too), both moments and the number of updates. `state` is the program's own,
// `description` what describe<Model>() says.
inline std::filesystem::path save(const trained_state& from, const std::filesystem::path& run, const std::string& name, json state, json description,
                                  std::size_t keep = 2) {
  const auto weights = detail::weight_tensors<saved_tensor>(from);
  const auto moments = detail::moment_tensors<saved_tensor>(from);
  return save_checkpoint(run, {from.updates, name, std::move(state), weights, moments, std::move(description)}, keep);
}

// Fills a prepared trainer; tell it the number of updates then. Everything that does not fit is named in one error, and nothing is changed then.
inline index load(const trained_state& into, const checkpoint& from, const std::string& name) {
  from.load(name, detail::weight_tensors<loaded_tensor>(into), detail::moment_tensors<loaded_tensor>(into));
  return static_cast<index>(from.step());
}

}  // namespace motet
