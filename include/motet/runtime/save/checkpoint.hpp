// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint_write.hpp>
#include <motet/runtime/save/held_tensors.hpp>

namespace motet {

// A writer is one of the ranks that make a checkpoint together.
struct checkpoint_writer {
  std::filesystem::path run;
  std::string name;   // of the model
  isize updates = 0;  // done so far
  isize rank = 0, ranks = 1;
  optimizer_kind optimizer = optimizer_kind::adamw;
};

// Called by every rank, with all its pieces; one that holds nothing says so too. When all have returned, one
// of them calls finish().
void save_part(const checkpoint_writer& by, std::span<const parameter_piece<float>> pieces);
std::filesystem::path finish(const checkpoint_writer& by, json state, json description, std::size_t keep = 2);

// Fills one rank's pieces from a checkpoint of any ranks. `model` lists all parameters of the model, whole,
// of which those before `trainable` learn: so every rank finds out whether the checkpoint fits the model, and
// all find the same. Nothing is changed when something is wrong: another optimizer is MT-R56. Averages of
// weights are filled where both have them. Returns the updates.
isize load(std::span<const parameter_piece<float>> pieces, std::span<const parameter> model, isize trainable,
           const checkpoint& from, const std::string& name, optimizer_kind by = optimizer_kind::adamw);

#if !defined(MOTET_COMPILED_RANKS)
MOTET_BODY void save_part(const checkpoint_writer& by, std::span<const parameter_piece<float>> pieces) {
  held_tensors<const float> own;
  for (const auto& piece : pieces) append_written(own, piece);
  write_checkpoint_part(by.run, {by.updates, by.name, by.rank, by.ranks, own.weights, own.moments,
                                 std::string(name_of(by.optimizer))});
}
MOTET_BODY std::filesystem::path finish(const checkpoint_writer& by, json state, json description,
                                        std::size_t keep) {
  return finish_checkpoint(by.run, {by.updates, by.name, by.ranks, std::move(state), std::move(description)},
                           keep);
}
MOTET_BODY isize load(std::span<const parameter_piece<float>> pieces, std::span<const parameter> model,
                      isize trainable, const checkpoint& from, const std::string& name, optimizer_kind by) {
  if (from.has_optimizer() && from.moved_by() != name_of(by))
    fail(checkpoint_of_another_optimizer, sentence({from.path().string(), " was made by ", from.moved_by(),
                                                    ", and this run moves weights by ", name_of(by)}));
  const bool averages = from.has_averages();
  std::vector<expected_tensor> weights, moments;
  for (const parameter& each : model) {
    weights.push_back({each.name, shape_of(each)});
    if (each.offset >= trainable) continue;
    moments.push_back({each.name + ".m", shape_of(each)});
    if (has_second_moment(each, by)) moments.push_back({each.name + ".v", shape_of(each)});
    if (averages) moments.push_back({each.name + ".ema", shape_of(each)});
  }
  from.expect(name, weights, moments);
  held_tensors<float> own;
  for (parameter_piece<float> piece : pieces) {
    if (!averages) piece.average = nullptr;
    append_held(own, piece);
  }
  from.load_slices(name, own.weights, own.moments);
  return static_cast<isize>(from.step());
}
#endif

}  // namespace motet
