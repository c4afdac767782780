// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint_write.hpp>
#include <motet/runtime/save/held_tensors.hpp>
#include <motet/runtime/state/trained_state.hpp>

namespace motet {

namespace detail {

template <class Tensor, class Data>
void append_tensors(std::vector<Tensor>& out, const trained_state& from, Data* data, const char* suffix,
                    index end) {
  for (const parameter& each : from.parameters) {
    if (each.offset >= end) continue;
    out.push_back({each.name + suffix, shape_of(each), data + each.offset});
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

// All of a trainer goes into the checkpoint: weights (frozen ones too), both moments and the number of
// updates. `state` is the program's own, `description` what describe<Model>() says.
inline std::filesystem::path save(const trained_state& from, const std::filesystem::path& run,
                                  const std::string& name, json state, json description,
                                  std::size_t keep = 2) {
  const auto weights = detail::weight_tensors<saved_tensor>(from);
  const auto moments = detail::moment_tensors<saved_tensor>(from);
  return save_checkpoint(
      run, {from.updates, name, std::move(state), weights, moments, std::move(description)}, keep);
}

// Fills a prepared trainer; tell it the number of updates then. Everything that does not fit is named in one
// error, and nothing is changed then.
inline index load(const trained_state& into, const checkpoint& from, const std::string& name) {
  from.load(name, detail::weight_tensors<loaded_tensor>(into), detail::moment_tensors<loaded_tensor>(into));
  return static_cast<index>(from.step());
}

// Who writes a checkpoint that several ranks make together.
struct checkpoint_writer {
  std::filesystem::path run;
  std::string name;   // of the model
  index updates = 0;  // done so far
  index rank = 0, ranks = 1;
};

// By every rank, with all its pieces; one that holds nothing says so too. When all have returned, one of them
// calls finish().
inline void save_part(const checkpoint_writer& by, std::span<const parameter_piece<float>> pieces) {
  held_tensors<const float> own;
  for (const auto& piece : pieces) append_written(own, piece);
  write_checkpoint_part(by.run, {by.updates, by.name, by.rank, by.ranks, own.weights, own.moments});
}
inline std::filesystem::path finish(const checkpoint_writer& by, json state, json description,
                                    std::size_t keep = 2) {
  return finish_checkpoint(by.run, {by.updates, by.name, by.ranks, std::move(state), std::move(description)},
                           keep);
}

// Fills one rank's pieces from a checkpoint of any ranks. `model` lists all parameters of the model, whole,
// of which those before `trainable` learn: so every rank finds out whether the checkpoint fits the model, and
// all find the same. Nothing is changed when something is wrong. Returns the updates.
inline index load(std::span<const parameter_piece<float>> pieces, std::span<const parameter> model,
                  index trainable, const checkpoint& from, const std::string& name) {
  std::vector<expected_tensor> weights, moments;
  for (const parameter& each : model) {
    weights.push_back({each.name, shape_of(each)});
    if (each.offset >= trainable) continue;
    moments.push_back({each.name + ".m", shape_of(each)});
    moments.push_back({each.name + ".v", shape_of(each)});
  }
  from.expect(name, weights, moments);
  held_tensors<float> own;
  for (const auto& piece : pieces) append_held(own, piece);
  from.load_slices(name, own.weights, own.moments);
  return static_cast<index>(from.step());
}

}  // namespace motet
