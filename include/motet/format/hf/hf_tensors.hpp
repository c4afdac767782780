// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint.hpp>
#include <motet/format/checkpoint/checkpoint_write.hpp>
#include <motet/format/tensors/convert.hpp>
#include <motet/format/tensors/tensor_set.hpp>
#include <motet/format/tensors/tensor_set_write.hpp>

#include <algorithm>

namespace motet {

// One of our tensors and the Hugging Face tensors that it holds one after the other: queries, keys and values
// are one tensor here.
struct hf_part {
  std::string name;  // none: the format has no such tensor, and zeros stand for it
  std::vector<isize> shape;

  isize elements() const {
    isize count = 1;
    for (const isize extent : shape) count *= extent;
    return count;
  }
};
struct hf_tensor {
  std::string ours;
  std::vector<hf_part> theirs;

  isize elements() const {
    isize count = 0;
    for (const hf_part& part : theirs) count += part.elements();
    return count;
  }
  // Equal parts are told together: "3 x [4, 4]".
  std::string parts_text() const {
    std::string out;
    for (std::size_t i = 0, same = 0; i < theirs.size(); i += same) {
      for (same = 1; i + same < theirs.size() && theirs[i + same].shape == theirs[i].shape;) ++same;
      out += sentence({out.empty() ? "" : " and ", same, " x ", shape_text(theirs[i].shape)});
    }
    return out;
  }
};

// Fills every tensor of `to` from a Hugging Face model, converting to float. All missing, unexpected and
// differing tensors are named in one error (MT-R53) before anything is written to memory. What begins with
// one of `unread` is no part of what is computed.
inline void load_hf_tensors(const tensor_set& from, const std::vector<hf_tensor>& map,
                            std::span<const loaded_tensor> to, const std::vector<std::string>& unread = {}) {
  std::unordered_map<std::string_view, const hf_tensor*> by_name;
  for (const hf_tensor& row : map) by_name.emplace(row.ours, &row);
  std::string differences;
  std::unordered_map<std::string_view, bool> used;
  for (const loaded_tensor& tensor : to) {
    const auto found = by_name.find(tensor.name);
    isize elements = 1;
    for (const isize extent : tensor.shape) elements *= extent;
    if (found == by_name.end()) {
      differences += "\n  missing     " + tensor.name + ", for which the format has no name";
      continue;
    }
    const hf_tensor& row = *found->second;
    if (row.elements() != elements) {
      differences += sentence({"\n  differs     ", tensor.name, " ", shape_text(tensor.shape),
                               " is not made of ", row.parts_text()});
    }
    for (const hf_part& part : row.theirs) {
      if (part.name.empty()) continue;
      const stored_tensor* stored = from.find(part.name);
      used.emplace(part.name, true);
      if (stored == nullptr) {
        differences += "\n  missing     " + part.name + " " + shape_text(part.shape);
      } else if (stored->shape != part.shape && !(part.shape.empty() && stored->elements() == 1)) {
        differences += "\n  differs     " + part.name + " is " + shape_text(stored->shape) + ", wanted " +
                       shape_text(part.shape);
      }
    }
  }
  for (const safetensors_file& file : from.files()) {
    for (const stored_tensor& tensor : file.tensors()) {
      // Older files hold what can be computed as buffers: the numbers 0, 1, 2, ..., the speeds of turns.
      if (!used.contains(tensor.name) && !tensor.name.ends_with(".position_ids") &&
          !tensor.name.ends_with(".rotary_emb.inv_freq") &&
          std::none_of(unread.begin(), unread.end(),
                       [&](const std::string& each) { return tensor.name.starts_with(each); }))
        differences += "\n  unexpected  " + tensor.name + " " + shape_text(tensor.shape);
    }
  }
  if (!differences.empty()) fail(checkpoint_mismatch, from.path() + ":" + differences + "\n");
  for (const loaded_tensor& tensor : to) {
    float* at = tensor.data;
    for (const hf_part& part : by_name.at(tensor.name)->theirs) {
      if (part.name.empty()) std::fill_n(at, part.elements(), 0.0f);
      else copy_elements(from.at(part.name), at);
      at += part.elements();
    }
  }
}

// config.json calls the type of the weights so.
constexpr std::string_view hf_name_of(dtype kind) {
  return kind == dtype::f16 ? "float16" : kind == dtype::bf16 ? "bfloat16" : "float32";
}

// Writes the tensors into FOLDER (tensor_set_write.hpp), and FOLDER/config.json with this text, as
// from_pretrained of the transformers package reads them. `from` must hold every tensor of the map (MT-R53
// names what lacks); what the format has no name for is refused, but for tensors whose names begin with
// `left_out`.
inline void save_hf_tensors(const std::filesystem::path& folder, const std::vector<hf_tensor>& map,
                            std::span<const saved_tensor> from, const std::string& config,
                            std::string_view left_out, const tensor_storage& as = {}) {
  std::unordered_map<std::string_view, const saved_tensor*> by_name;
  for (const saved_tensor& tensor : from) by_name.emplace(tensor.name, &tensor);
  std::string differences;
  std::vector<declared_tensor> declared;
  for (const hf_tensor& row : map) {
    const auto found = by_name.find(row.ours);
    isize elements = 1;
    if (found == by_name.end()) {
      differences += "\n  missing     " + row.ours;
    } else {
      for (const isize extent : found->second->shape) elements *= extent;
      if (elements != row.elements()) {
        differences += sentence({"\n  differs     ", row.ours, " is ", shape_text(found->second->shape),
                                 ", wanted ", row.parts_text()});
      }
      by_name.erase(found);
    }
    for (const hf_part& part : row.theirs)
      if (!part.name.empty()) declared.push_back({part.name, as.kind, part.shape});
  }
  for (const auto& [name, tensor] : by_name) {
    if (left_out.empty() || !name.starts_with(left_out))
      differences += "\n  unexpected  " + std::string(name) + " " + shape_text(tensor->shape);
  }
  if (!differences.empty())
    fail(checkpoint_mismatch, "the model cannot be written as a Hugging Face model:" + differences + "\n");

  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) fail(file_unwritable, folder.string() + ": " + failed.message());
  tensor_set_writer writer(folder, std::move(declared), as.most_bytes);
  for (const saved_tensor& tensor : from) by_name.emplace(tensor.name, &tensor);
  for (const hf_tensor& row : map) {
    const float* at = by_name.at(row.ours)->data;
    for (const hf_part& part : row.theirs) {
      const std::span<const float> numbers(at, as_size(part.elements()));
      if (part.name.empty()) {
        // The format has no such tensor.
      } else if (as.kind == dtype::f32) {
        writer.write(part.name, std::as_bytes(numbers));
      } else {
        writer.write(part.name, rounded_bytes(as.kind, numbers, part.name));
      }
      at += part.elements();
    }
  }
  writer.commit();
  write_file(folder / "config.json", config);
}

}  // namespace motet
