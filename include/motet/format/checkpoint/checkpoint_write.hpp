// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint_finish.hpp>

namespace motet {

struct saved_tensor {
  std::string name;
  std::vector<isize> shape;
  const float* data = nullptr;
};

struct checkpoint_contents {
  std::int64_t step = 0;
  std::string model;  // what tells this model from others, e.g. its name and the hash of its configuration
  json state;         // whatever the program resumes from
  std::span<const saved_tensor> weights, optimizer;
  // of the nets, as describe<Model>() says it (model/describe.hpp); converters read it
  json description = {};
  std::string moved_by = "adamw";  // the name of the optimizer
};

// One program alone calls this: it writes RUN/step-000123, then RUN/latest, then removes all but the newest
// `keep` checkpoints (0 keeps all) and the best one by its trend. An older checkpoint is touched only after
// the new one is complete and on the disk; a checkpoint of the same step is replaced. Returns the new
// checkpoint's folder.
inline std::filesystem::path save_checkpoint(const std::filesystem::path& run,
                                             const checkpoint_contents& contents, std::size_t keep = 2) {
  // One program writes to a run, so temporary folders there are left from one that was killed.
  remove_unfinished_checkpoints(run);
  std::vector<saved_slice> weights, optimizer;
  for (const saved_tensor& each : contents.weights)
    weights.push_back(whole_slice(each.name, each.shape, each.data));
  for (const saved_tensor& each : contents.optimizer)
    optimizer.push_back(whole_slice(each.name, each.shape, each.data));
  atomic_directory folder(run / detail::step_folder(contents.step));
  checkpoint_index whole = detail::write_part_files(
      folder.path(), {contents.step, contents.model, 0, 1, weights, optimizer, contents.moved_by});
  whole.state = contents.state;
  whole.description = contents.description;
  return detail::publish_checkpoint(run, folder, whole, keep);
}

}  // namespace motet
