// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/tensors/safetensors_write.hpp>

#include <cstdio>
#include <memory>

namespace motet {

// A storage says how the tensors of a folder are stored: of which type, and in files of at most so many bytes
// of tensors.
struct tensor_storage {
  dtype kind = dtype::f32;
  std::uint64_t most_bytes = 5'000'000'000;
};

// Writes a folder that tensor_set opens: model.safetensors or, where that would be larger than `most_bytes`,
// model-00001-of-0000N.safetensors and so on with an index, tensors in the order in which they are declared.
// Declare all, write each once in any order, commit(). A tensor larger than that has a file of its own. Of an
// older model in the folder what would be read in the place of the new one is removed.
// Asks for: a folder that can be written; all tensors declared, each by a name of its own, and written once.
// Memory: headers and names.
// Errors: MT-F05, MT-F06, MT-F12
// Example:
//   void write_one(const std::string& folder, const std::vector<float>& numbers) {
//     const auto size = static_cast<std::ptrdiff_t>(numbers.size());
//     tensor_set_writer out(folder, {{"weight", dtype::f32, {size}}}, 1'000'000);
//     out.write("weight", std::as_bytes(std::span(numbers)));
//     out.commit();
//   }
class tensor_set_writer {
 public:
  tensor_set_writer(std::filesystem::path folder, std::vector<declared_tensor> tensors,
                    std::uint64_t most_bytes)
      : folder_(std::move(folder)) {
    std::vector<std::vector<declared_tensor>> parts(1);
    std::uint64_t in_part = 0;
    for (declared_tensor& each : tensors) {
      const auto bytes = as_size(tensor_bytes(each.shape, each.kind).value_or(0));
      if (in_part > 0 && in_part + bytes > most_bytes) {
        parts.emplace_back();
        in_part = 0;
      }
      if (!part_of_.emplace(each.name, parts.size() - 1).second)
        fail(safetensors_misuse, "\"" + each.name + "\" is declared twice");
      in_part += bytes;
      all_bytes_ += bytes;
      parts.back().push_back(std::move(each));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (const declared_tensor& each : parts[i]) declared_.emplace_back(each.name, i);
      files_.push_back(parts.size() == 1 ? whole : name_of_part(i, parts.size()));
      writers_.push_back(std::make_unique<safetensors_writer>(
          folder_ / files_.back(), std::move(parts[i]), safetensors_writer::metadata{{"format", "pt"}}));
    }
  }

  std::size_t files() const { return files_.size(); }
  void write(std::string_view name, std::span<const std::byte> bytes) {
    const auto found = part_of_.find(std::string(name));
    if (found == part_of_.end()) fail(safetensors_misuse, "\"" + std::string(name) + "\" was not declared");
    writers_[found->second]->write(name, bytes);
  }
  // An index appears when all that it names is there, and no older one stands over newer files.
  void commit() {
    remove(index_file);
    for (const auto& each : writers_) each->commit();
    if (files_.size() == 1) return;
    json map{json::object{}};
    for (const auto& [name, part] : declared_) map.set(name, files_[part]);
    const json all{{"metadata", json{{"total_size", all_bytes_}}}, {"weight_map", std::move(map)}};
    write_file(folder_ / index_file, write_json(all, 2) + "\n");
    remove(whole);
  }

 private:
  static constexpr const char *whole = "model.safetensors", *index_file = "model.safetensors.index.json";
  static std::string name_of_part(std::size_t i, std::size_t count) {
    char text[64];
    std::snprintf(text, sizeof text, "model-%05zu-of-%05zu.safetensors", i + 1, count);
    return text;
  }
  void remove(const char* name) const {
    std::error_code failed;
    std::filesystem::remove(folder_ / name, failed);
    if (failed) fail(file_unwritable, (folder_ / name).string() + ": " + failed.message());
  }
  std::filesystem::path folder_;
  std::vector<std::string> files_;
  std::vector<std::pair<std::string, std::size_t>> declared_;  // in order, with their files
  std::unordered_map<std::string, std::size_t> part_of_;
  std::vector<std::unique_ptr<safetensors_writer>> writers_;
  std::uint64_t all_bytes_ = 0;
};

}  // namespace motet
