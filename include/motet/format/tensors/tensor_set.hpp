// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/tensors/safetensors.hpp>

namespace motet {

// All tensors of one safetensors file, or of a set of files behind an index. Opened on
//   a file *.safetensors, an index *.json, or a directory that holds model.safetensors or
//   model.safetensors.index.json.
// Asks for: files that stay as they are while they are open.
// Memory: headers and names; bytes of tensors are mapped, not read.
// Errors: MT-F04, MT-F07, MT-F08, MT-F09, MT-F11
// Example:
//   bool holds(const std::string& folder, std::string_view name) { return tensor_set(folder).find(name); }
class tensor_set {
 public:
  explicit tensor_set(const std::filesystem::path& path) : path_(path.string()) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) {
      path.extension() == ".json" ? open_index(path) : open_file(path);
    } else if (std::filesystem::exists(path / "model.safetensors", ignored)) {
      open_file(path / "model.safetensors");
    } else if (std::filesystem::exists(path / "model.safetensors.index.json", ignored)) {
      open_index(path / "model.safetensors.index.json");
    } else {
      fail(file_unreadable, path_ + " holds neither model.safetensors nor model.safetensors.index.json");
    }
  }

  const std::string& path() const { return path_; }
  std::size_t size() const { return by_name_.size(); }
  const std::vector<safetensors_file>& files() const { return files_; }
  const stored_tensor* find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? nullptr : found->second;
  }
  const stored_tensor& at(std::string_view name) const {
    const stored_tensor* found = find(name);
    if (found == nullptr) fail(tensor_missing, path_ + " has no tensor \"" + std::string(name) + "\"");
    return *found;
  }

 private:
  // Moving a safetensors_file leaves its tensors where they are, so the pointers stay good while files_
  // grows.
  void open_file(const std::filesystem::path& path) {
    const safetensors_file& file = files_.emplace_back(path);
    for (const stored_tensor& tensor : file.tensors()) {
      if (!by_name_.emplace(tensor.name, &tensor).second)
        fail(tensor_set_incomplete,
             path.string() + ": tensor \"" + tensor.name + "\" is in two files of the set");
    }
  }
  void open_index(const std::filesystem::path& path) {
    const mapped_file text(path);
    const json index_file = read_json(text.text(), path.string());
    const json* map = index_file.is_object() ? index_file.find("weight_map") : nullptr;
    if (map == nullptr || !map->is_object())
      fail(tensor_set_incomplete, path.string() + " has no weight_map");
    std::vector<std::string> names;
    for (const auto& [tensor, file] : map->members()) {
      const std::string& name = file.string();
      // A shard lies beside its index; an index must not lead anywhere else.
      if (name.empty() || std::filesystem::path(name).filename() != name)
        fail(tensor_set_incomplete, path.string() + ": \"" + name + "\" is not the name of a file");
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    std::string missing;
    for (const std::string& name : names) {
      std::error_code ignored;
      if (!std::filesystem::exists(path.parent_path() / name, ignored))
        missing += (missing.empty() ? "" : ", ") + name;
    }
    if (!missing.empty())
      fail(tensor_set_incomplete, path.string() + " names files that are not beside it: " + missing);
    files_.reserve(names.size());
    for (const std::string& name : names) open_file(path.parent_path() / name);
    for (const auto& [tensor, file] : map->members()) {
      if (find(tensor) == nullptr)
        fail(tensor_set_incomplete, "tensor \"" + tensor + "\" is not in " + file.string() + ", where " +
                                        path.string() + " says it is");
    }
  }

  std::string path_;
  std::vector<safetensors_file> files_;
  std::unordered_map<std::string, const stored_tensor*> by_name_;
};

}  // namespace motet
