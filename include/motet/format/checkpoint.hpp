// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checksum.hpp>
#include <motet/format/convert.hpp>
#include <motet/format/json_write.hpp>
#include <motet/format/safetensors.hpp>

namespace motet {

// A checkpoint on disk, RUN/step-000123/:
//   index.json             version, step, model, description of its nets, state (schedule, data position, random numbers: whatever the program resumes from),
//                          size of each file, checksum of each tensor, and last its own checksum
//   model.safetensors      weights under their global names, F32
//   optimizer.safetensors  its moments under the same names with .m and .v, F32; absent when nothing was given
// and RUN/latest, a line with the name of the newest one. This header reads; checkpoint_write.hpp writes.
inline constexpr int checkpoint_version = 1;

// Where a caller wants a tensor to go.
struct loaded_tensor {
  std::string name;
  std::vector<index> shape;
  float* data = nullptr;
};

namespace detail {

inline constexpr const char* checkpoint_files[] = {"model.safetensors", "optimizer.safetensors"};

inline std::string step_folder(std::int64_t step) {
  const std::string digits = std::to_string(step);
  return "step-" + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits;
}
// The step of "step-000123", or nothing.
inline std::optional<std::int64_t> folder_step(std::string_view name) {
  std::int64_t step = 0;
  if (!name.starts_with("step-")) return std::nullopt;
  name.remove_prefix(5);
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (failed != std::errc{} || end != name.data() + name.size() || name.size() < 6 || step < 0) return std::nullopt;
  return step;
}

}  // namespace detail

// The newest checkpoint of a run: what `latest` names, else the highest complete step. Nothing when there is none.
inline std::optional<std::filesystem::path> latest_checkpoint(const std::filesystem::path& run) {
  std::error_code ignored;
  if (std::filesystem::exists(run / "latest", ignored)) {
    const mapped_file pointer(run / "latest");
    const std::string name(pointer.text().substr(0, pointer.text().find('\n')));
    if (detail::folder_step(name) && std::filesystem::exists(run / name / "index.json", ignored)) return run / name;
  }
  std::optional<std::int64_t> best;
  std::filesystem::path found;
  for (std::filesystem::directory_iterator it(run, ignored), end; it != end; it.increment(ignored)) {
    const auto step = detail::folder_step(it->path().filename().string());
    if (step && (!best || *step > *best) && std::filesystem::exists(it->path() / "index.json", ignored)) best = step, found = it->path();
  }
  if (!best) return std::nullopt;
  return found;
}

// An opened checkpoint: version, index and sizes are checked on opening, the bytes of each tensor when it is loaded.
class checkpoint {
 public:
  // `path` is one checkpoint, or a run of which the newest is taken.
  explicit checkpoint(const std::filesystem::path& path) : path_(path) {
    std::error_code ignored;
    if (!std::filesystem::exists(path_ / "index.json", ignored)) {
      const auto newest = latest_checkpoint(path);
      if (!newest) fail(checkpoint_absent, path.string());
      path_ = *newest;
    }
    try {
      open();
    } catch (const error& cause) {
      // What is wrong inside a file of the checkpoint is damage, whatever the reader of that file calls it.
      if (std::string_view(cause.code()).starts_with("MT-F")) fail(checkpoint_damaged, path_.string() + " (" + cause.what() + ")");
      throw;
    }
  }

  const std::filesystem::path& path() const { return path_; }
  std::int64_t step() const { return step_; }
  const std::string& model() const { return model_; }
  const json& state() const { return state_; }
  const json& description() const { return description_; }                            // of the nets; see model/describe.hpp
  const std::vector<stored_tensor>& weights() const { return files_[0]->tensors(); }  // for converters; load() checks what it reads
  bool has_optimizer() const { return files_[1].has_value(); }

  // Fills every tensor of both lists, after comparing the lists with the files: all missing, unexpected and differing tensors are named in one
  // error (MT-R53), before anything is written to memory. Damaged bytes are MT-R52 with the tensor's name.
  void load(std::string_view model, std::span<const loaded_tensor> weights, std::span<const loaded_tensor> optimizer) const {
    std::string differences = compare(0, weights) + compare(1, optimizer);
    if (!differences.empty()) {
      fail(checkpoint_mismatch, path_.string() + " (model " + model_ + ", wanted " + std::string(model) + "):" + differences + "\n");
    }
    fill(0, weights);
    fill(1, optimizer);
  }
  // The weights alone, for a program that does not train on.
  void load_weights(std::string_view model, std::span<const loaded_tensor> weights) const {
    const std::string differences = compare(0, weights);
    if (!differences.empty()) {
      fail(checkpoint_mismatch, path_.string() + " (model " + model_ + ", wanted " + std::string(model) + "):" + differences + "\n");
    }
    fill(0, weights);
  }

 private:
  void open() {
    const mapped_file text(path_ / "index.json");
    const json whole = read_json(text.text(), (path_ / "index.json").string());
    const std::int64_t version = whole.at("version").integer();
    if (version != checkpoint_version) {
      fail(checkpoint_of_another_version,
           path_.string() + " has version " + std::to_string(version) + ", this program reads " + std::to_string(checkpoint_version));
    }
    json::object rest;
    for (const auto& [name, value] : whole.members()) {
      if (name != "checksum") rest.insert(name, value);
    }
    if (checksum_text(checksum(write_json(json(std::move(rest))))) != whole.at("checksum").string()) {
      fail(checkpoint_damaged, (path_ / "index.json").string() + " does not have the contents that were written");
    }
    step_ = whole.at("step").integer();
    model_ = whole.at("model").string();
    state_ = whole.at("state");
    description_ = whole.at("description");
    tensors_ = whole.at("tensors");
    if (whole.at("files").find(detail::checkpoint_files[0]) == nullptr) fail(checkpoint_damaged, path_.string() + " names no file of weights");
    for (const auto& [name, bytes] : whole.at("files").members()) {
      const auto which =
          std::find(std::begin(detail::checkpoint_files), std::end(detail::checkpoint_files), name) - std::begin(detail::checkpoint_files);
      if (which == std::ssize(detail::checkpoint_files)) fail(checkpoint_damaged, path_.string() + " names the unknown file " + name);
      std::error_code missing;
      const auto size = std::filesystem::file_size(path_ / name, missing);
      if (missing) fail(checkpoint_damaged, (path_ / name).string() + " is missing");
      if (size != bytes.unsigned_integer()) {
        fail(checkpoint_damaged,
             (path_ / name).string() + " has " + std::to_string(size) + " bytes, " + std::to_string(bytes.unsigned_integer()) + " were written");
      }
      files_[static_cast<std::size_t>(which)].emplace(path_ / name);
    }
  }

  std::string compare(std::size_t which, std::span<const loaded_tensor> wanted) const {
    std::string out;
    std::unordered_map<std::string_view, const loaded_tensor*> by_name;
    for (const loaded_tensor& tensor : wanted) {
      by_name.emplace(tensor.name, &tensor);
      const stored_tensor* found = files_[which] ? files_[which]->find(tensor.name) : nullptr;
      if (found == nullptr) {
        out += "\n  missing     " + tensor.name + " " + shape_text(tensor.shape);
      } else if (found->shape != tensor.shape || found->kind != dtype::f32) {
        out += "\n  differs     " + tensor.name + " is " + std::string(name_of(found->kind)) + " " + shape_text(found->shape) + ", wanted F32 " +
               shape_text(tensor.shape);
      }
    }
    if (!files_[which]) return out;
    for (const stored_tensor& tensor : files_[which]->tensors()) {
      if (!by_name.contains(tensor.name)) out += "\n  unexpected  " + tensor.name + " " + shape_text(tensor.shape);
    }
    return out;
  }

  void fill(std::size_t which, std::span<const loaded_tensor> wanted) const {
    for (const loaded_tensor& tensor : wanted) {
      const stored_tensor& from = files_[which]->at(tensor.name);
      const json* written = tensors_.find(tensor.name);
      if (written == nullptr || !written->is_string() || written->string() != checksum_text(checksum(from.bytes))) {
        fail(checkpoint_damaged, files_[which]->path() + ": tensor \"" + tensor.name + "\" does not have the bytes that were written");
      }
      copy_elements(from, tensor.data);
    }
  }

  std::filesystem::path path_;
  std::int64_t step_ = 0;
  std::string model_;
  json state_, description_, tensors_;
  std::optional<safetensors_file> files_[2];
};

}  // namespace motet
