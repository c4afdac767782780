// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint_index_json.hpp>
#include <motet/format/checkpoint/checkpoint_pieces.hpp>
#include <motet/format/checkpoint/checkpoint_run.hpp>

#include <unordered_set>

namespace motet {

// A checkpoint on disk, RUN/step-000123/:
//   index.json
//       version, step, model, description of its nets, state (schedule, data position, random numbers:
//       whatever the program resumes from), size of each file, checksums, and last its own checksum
//   model.safetensors
//       weights under their global names, F32
//   optimizer.safetensors
//       its moments under the same names with .m and .v, and averages of weights with .ema, F32; absent
//       when nothing was
//   given and RUN/latest, a line with the name of the newest one. Of several parts each has files of its own,
//   model-00001-of-00004.safetensors, and the index says which part has which rectangle of each tensor. This
//   header reads; checkpoint_write.hpp and checkpoint_parts.hpp write.

// A caller wants a tensor to go here.
struct loaded_tensor {
  std::string name;
  std::vector<isize> shape;
  float* data = nullptr;
};
// A tensor that a model has.
struct expected_tensor {
  std::string name;
  std::vector<isize> shape;
};

// A program takes the weights of the last step, or the moving averages of those that learn.
enum class weights_of : std::uint8_t { last_step, averages };

// An opened checkpoint, of one part or of many: version, index and sizes are checked on opening, bytes when
// they are loaded.
// Asks for: a checkpoint of this version, or a run with one.
// Memory: the index; what is loaded goes where the caller says, block after block.
// Errors: MT-R50, MT-R51, MT-R52, MT-R53
// Example:
//   std::int64_t newest_step(const std::string& run) { return checkpoint(run).step(); }
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
    as_damage([&] { open(); });
  }
  checkpoint(checkpoint&&) = default;
  checkpoint& operator=(checkpoint&&) = default;

  const std::filesystem::path& path() const { return path_; }
  std::int64_t step() const { return index_.step; }
  isize parts() const { return index_.parts; }
  const std::string& model() const { return index_.model; }
  const std::string& moved_by() const { return index_.optimizer; }  // the name of the optimizer
  const json& state() const { return index_.state; }
  // What the program kept by this name, if it did; a program of one's own keeps what it likes.
  const json* kept(std::string_view name) const {
    return index_.state.is_object() ? index_.state.find(name) : nullptr;
  }
  const json& description() const { return index_.description; }  // of the nets; see model/describe.hpp
  const std::vector<checkpoint_tensor>& weights() const { return index_.of(tensor_use::weights).tensors; }
  const std::vector<checkpoint_tensor>& optimizer() const { return index_.of(tensor_use::optimizer).tensors; }
  bool has_optimizer() const {
    return std::ranges::any_of(index_.of(tensor_use::optimizer).files,
                               [](const auto& file) { return file.has_value(); });
  }

  // Compares the lists with the checkpoint: all missing, unexpected and differing tensors are named in one
  // error (MT-R53).
  void expect(std::string_view model, std::span<const expected_tensor> weights,
              std::span<const expected_tensor> optimizer) const {
    refuse(model, differences(tensor_use::weights, weights, true) +
                      differences(tensor_use::optimizer, optimizer, true));
  }
  // Fills slices of any tensors, whatever parts wrote them; other tensors may be there. Only the blocks that
  // hold what is wanted are read. Everything is compared (MT-R53) and checked (MT-R52 with file and tensor)
  // before anything is written to memory.
  void load_slices(std::string_view model, std::span<const loaded_slice> weights,
                   std::span<const loaded_slice> optimizer) const {
    refuse(model, differences(tensor_use::weights, weights, false) +
                      differences(tensor_use::optimizer, optimizer, false));
    as_damage([&] {
      detail::piece_reader reader(path_, index_);
      for (const loaded_slice& each : weights)
        reader.check(tensor_use::weights, *find(tensor_use::weights, each.name), each);
      for (const loaded_slice& each : optimizer)
        reader.check(tensor_use::optimizer, *find(tensor_use::optimizer, each.name), each);
      for (const loaded_slice& each : weights)
        reader.copy(tensor_use::weights, *find(tensor_use::weights, each.name), each);
      for (const loaded_slice& each : optimizer)
        reader.copy(tensor_use::optimizer, *find(tensor_use::optimizer, each.name), each);
    });
  }
  // All tensors of both lists, and no others must be there.
  void load(std::string_view model, std::span<const loaded_tensor> weights,
            std::span<const loaded_tensor> optimizer) const {
    refuse(model, differences(tensor_use::weights, weights, true) +
                      differences(tensor_use::optimizer, optimizer, true));
    load_slices(model, whole_slices(weights), whole_slices(optimizer));
  }
  bool has_averages() const { return !averages().empty(); }
  // The weights alone, for a program that does not train on; with averages (MT-R57: there are none) those of
  // the tensors that have them.
  void load_weights(std::string_view model, std::span<const loaded_tensor> weights,
                    weights_of which = weights_of::last_step) const {
    refuse(model, differences(tensor_use::weights, weights, true));
    std::vector<loaded_slice> last, followed;
    if (which == weights_of::averages && !has_averages()) fail(checkpoint_without_averages, path_.string());
    for (const loaded_tensor& each : weights) {
      const std::string name = each.name + ".ema";
      if (which == weights_of::averages && find(tensor_use::optimizer, name) != nullptr)
        followed.push_back(whole_slice(name, each.shape, each.data));
      else last.push_back(whole_slice(each.name, each.shape, each.data));
    }
    load_slices(model, last, followed);
  }
  // The names of the averages that are there.
  std::vector<std::string> averages() const {
    std::vector<std::string> out;
    for (const checkpoint_tensor& each : optimizer())
      if (each.name.ends_with(".ema")) out.push_back(each.name);
    return out;
  }

 private:
  // A fault inside a file of the checkpoint is damage, whatever the reader of that file calls it.
  template <class Work>
  void as_damage(Work&& work) const {
    try {
      work();
    } catch (const error& cause) {
      if (std::string_view(cause.code()).starts_with("MT-F"))
        fail(checkpoint_damaged, path_.string() + " (" + cause.what() + ")");
      throw;
    }
  }

  void open() {
    const std::string name = (path_ / "index.json").string();
    const mapped_file text(name);
    const json whole = read_json(text.text(), name);
    const std::int64_t version = whole.at("version").integer();
    if (version < 1 || version > checkpoint_version) {
      fail(checkpoint_of_another_version, sentence({path_.string(), " has version ", version,
                                                    ", this program reads 1 to ", checkpoint_version}));
    }
    if (!detail::seal_holds(whole))
      fail(checkpoint_damaged, name + " does not have the contents that were written");
    index_ = read_checkpoint_index(whole);
    for (const tensor_use use : tensor_uses) {
      for (isize part = 0; part < index_.parts; ++part) {
        const auto wanted = index_.of(use).files[as_size(part)];
        if (!wanted) continue;
        const std::filesystem::path file = path_ / detail::part_file(use, part, index_.parts);
        std::error_code missing;
        const auto size = std::filesystem::file_size(file, missing);
        if (missing) fail(checkpoint_damaged, file.string() + " is missing");
        if (size != *wanted) {
          fail(checkpoint_damaged,
               sentence({file.string(), " has ", size, " bytes, ", *wanted, " were written"}));
        }
        if (version == 1) list_whole_tensors(use, file);
      }
      for (const checkpoint_tensor& tensor : index_.of(use).tensors) {
        if (const std::string fault = detail::tiling_fault(tensor); !fault.empty())
          fail(checkpoint_damaged, name + ": tensor " + fault);
        by_name_[as_size(use)].emplace(tensor.name, &tensor);
      }
    }
  }
  // In version 1 only the file itself knows the shapes.
  void list_whole_tensors(tensor_use use, const std::filesystem::path& path) {
    const safetensors_file file(path);
    for (const stored_tensor& stored : file.tensors()) {
      checkpoint_tensor& tensor =
          index_.of(use).tensors.emplace_back(checkpoint_tensor{stored.name, stored.shape, stored.kind, {}});
      const json* written = index_.checksums.find(stored.name);
      const std::string sum = written != nullptr && written->is_string() ? written->string() : "";
      if (tensor.elements() > 0) tensor.pieces.push_back({0, matrix_of(tensor.shape), {sum}});
    }
  }

  const checkpoint_tensor* find(tensor_use use, std::string_view name) const {
    const auto& names = by_name_[as_size(use)];
    const auto found = names.find(name);
    return found == names.end() ? nullptr : found->second;
  }
  void refuse(std::string_view model, const std::string& differences) const {
    if (differences.empty()) return;
    fail(checkpoint_mismatch, path_.string() + " (model " + index_.model + ", wanted " + std::string(model) +
                                  "):" + differences + "\n");
  }
  template <class Wanted>
  std::string differences(tensor_use use, std::span<const Wanted> wanted, bool all) const {
    std::string out;
    std::unordered_set<std::string_view> named;
    std::unordered_set<std::string> lines;
    const auto say = [&](const std::string& line) {
      if (lines.insert(line).second) out += "\n  " + line;
    };
    for (const Wanted& tensor : wanted) {
      named.insert(tensor.name);
      const checkpoint_tensor* found = find(use, tensor.name);
      if (found == nullptr) {
        say("missing     " + tensor.name + " " + shape_text(tensor.shape));
      } else if (found->shape != tensor.shape || found->kind != dtype::f32) {
        say("differs     " + tensor.name + " is " + std::string(name_of(found->kind)) + " " +
            shape_text(found->shape) + ", wanted F32 " + shape_text(tensor.shape));
      } else if constexpr (requires { tensor.covers; }) {
        if (!tensor.covers.empty() && !holds(matrix_of(tensor.shape), tensor.covers))
          say("differs     " + tensor.name + " is " + shape_text(found->shape) + ", wanted " +
              detail::rectangle_text(tensor.shape, tensor.covers) + " of it");
      }
    }
    for (const checkpoint_tensor& tensor : index_.of(use).tensors) {
      if (all && !named.contains(tensor.name))
        say("unexpected  " + tensor.name + " " + shape_text(tensor.shape));
    }
    return out;
  }
  static std::vector<loaded_slice> whole_slices(std::span<const loaded_tensor> tensors) {
    std::vector<loaded_slice> out;
    for (const loaded_tensor& each : tensors) out.push_back(whole_slice(each.name, each.shape, each.data));
    return out;
  }

  std::filesystem::path path_;
  checkpoint_index index_;
  std::unordered_map<std::string_view, const checkpoint_tensor*> by_name_[2];
};

}  // namespace motet
