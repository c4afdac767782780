// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/atomic_directory.hpp>
#include <motet/format/checkpoint.hpp>
#include <motet/format/safetensors_write.hpp>

namespace motet {

struct saved_tensor {
  std::string name;
  std::vector<index> shape;
  const float* data = nullptr;
};

struct checkpoint_contents {
  std::int64_t step = 0;
  std::string model;  // what tells this model from others, e.g. its name and the hash of its configuration
  json state;         // whatever the program resumes from
  std::span<const saved_tensor> weights, optimizer;
  json description = {};  // of the nets, as describe<Model>() says it (model/describe.hpp); converters read it
};

// Writes RUN/step-000123, then RUN/latest, then removes all but the newest `keep` checkpoints (0 keeps all). An older checkpoint is touched only
// after the new one is complete and on the disk; a checkpoint of the same step is replaced. Returns the new checkpoint's folder.
inline std::filesystem::path save_checkpoint(const std::filesystem::path& run, const checkpoint_contents& contents, std::size_t keep = 2) {
  std::error_code ignored;
  const auto each_entry = [&](auto&& visit) {
    std::vector<std::filesystem::path> entries;
    for (std::filesystem::directory_iterator it(run, ignored), end; it != end; it.increment(ignored)) entries.push_back(it->path());
    for (const auto& entry : entries) visit(entry, entry.filename().string());
  };
  // One program writes to a run, so temporary folders there are left from one that was killed.
  each_entry([&](const std::filesystem::path& entry, const std::string& name) {
    if (name.starts_with(".step-") && name.find(".tmp-") != std::string::npos) std::filesystem::remove_all(entry, ignored);
  });

  const std::filesystem::path target = run / detail::step_folder(contents.step);
  atomic_directory folder(target);
  json files{json::object{}}, tensors{json::object{}};
  for (std::size_t which = 0; which < 2; ++which) {
    const auto& list = which == 0 ? contents.weights : contents.optimizer;
    if (which == 1 && list.empty()) continue;
    std::vector<declared_tensor> declared;
    for (const saved_tensor& tensor : list) declared.push_back({tensor.name, dtype::f32, tensor.shape});
    const std::filesystem::path path = folder.path() / detail::checkpoint_files[which];
    safetensors_writer writer(path, std::move(declared), {{"format", "pt"}});
    for (const saved_tensor& tensor : list) {
      const auto bytes = static_cast<std::size_t>(detail::tensor_bytes(tensor.shape, dtype::f32).value_or(0));
      const std::span<const std::byte> raw(reinterpret_cast<const std::byte*>(tensor.data), bytes);
      if (tensors.find(tensor.name) != nullptr) fail(safetensors_misuse, "\"" + tensor.name + "\" is both a weight and optimizer state");
      tensors.set(tensor.name, checksum_text(checksum(raw)));
      writer.write(tensor.name, raw);
    }
    writer.commit();
    files.set(detail::checkpoint_files[which], std::filesystem::file_size(path));
  }
  json whole{{"version", checkpoint_version}, {"step", contents.step},     {"model", contents.model},      {"description", contents.description},
             {"state", contents.state},       {"files", std::move(files)}, {"tensors", std::move(tensors)}};
  whole.set("checksum", checksum_text(checksum(write_json(whole))));
  write_file(folder.path() / "index.json", write_json(whole, 1) + "\n");
  folder.commit();
  write_file(run / "latest", target.filename().string() + "\n");

  std::vector<std::int64_t> steps;
  each_entry([&](const std::filesystem::path&, const std::string& name) {
    if (const auto step = detail::folder_step(name)) steps.push_back(*step);
  });
  std::sort(steps.begin(), steps.end());
  for (std::size_t i = 0; keep > 0 && steps.size() - i > keep; ++i) {
    if (steps[i] != contents.step) std::filesystem::remove_all(run / detail::step_folder(steps[i]), ignored);
  }
  return target;
}

}  // namespace motet
