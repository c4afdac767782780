// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/atomic_file.hpp>
#include <motet/format/checkpoint.hpp>
#include <motet/format/convert.hpp>
#include <motet/format/hf_clip.hpp>
#include <motet/format/tensor_set.hpp>

namespace motet {

// One of our tensors and the Hugging Face tensors that it holds one after the other: queries, keys and values
// are one tensor here.
struct hf_tensor {
  std::string ours;
  std::vector<std::string> theirs;
  std::vector<index> shape;  // of each of theirs

  index elements() const {
    index count = static_cast<index>(theirs.size());
    for (const index extent : shape) count *= extent;
    return count;
  }
};

// All tensors of a CLIP model, by the names that a model has whose modules are called `picture` and
// `caption`.
inline std::vector<hf_tensor> hf_clip_tensors(const hf_clip_config& config,
                                              const std::string& picture = "picture",
                                              const std::string& caption = "caption") {
  std::vector<hf_tensor> out;
  const auto weight_and_bias = [&](const std::string& ours, const std::string& theirs,
                                   std::vector<index> shape) {
    out.push_back({ours + ".weight", {theirs + ".weight"}, shape});
    out.push_back({ours + ".bias", {theirs + ".bias"}, {shape[0]}});
  };
  const auto tower = [&](const std::string& ours, const std::string& theirs, const hf_tower& t) {
    for (index i = 0; i < t.layers; ++i) {
      const std::string block = sentence({ours, ".blocks.", i}),
                        layer = sentence({theirs, ".encoder.layers.", i});
      weight_and_bias(block + ".attention.norm", layer + ".layer_norm1", {t.width});
      for (const char* part : {".weight", ".bias"}) {
        std::vector<std::string> fused;
        for (const char* projection : {".self_attn.q_proj", ".self_attn.k_proj", ".self_attn.v_proj"})
          fused.push_back(layer + projection + part);
        const bool matrix = part == std::string_view(".weight");
        out.push_back({block + ".attention.qkv" + part, fused,
                       matrix ? std::vector<index>{t.width, t.width} : std::vector<index>{t.width}});
      }
      weight_and_bias(block + ".attention.out", layer + ".self_attn.out_proj", {t.width, t.width});
      weight_and_bias(block + ".mlp.norm", layer + ".layer_norm2", {t.width});
      weight_and_bias(block + ".mlp.up", layer + ".mlp.fc1", {t.hidden, t.width});
      weight_and_bias(block + ".mlp.down", layer + ".mlp.fc2", {t.width, t.hidden});
    }
  };
  const index across = config.image / config.patch;
  const hf_tower &v = config.vision, &t = config.text;
  out.push_back({picture + ".embed.patch.weight",
                 {"vision_model.embeddings.patch_embedding.weight"},
                 {v.width, config.channels, config.patch, config.patch}});
  out.push_back({picture + ".embed.class", {"vision_model.embeddings.class_embedding"}, {v.width}});
  out.push_back({picture + ".embed.position",
                 {"vision_model.embeddings.position_embedding.weight"},
                 {across * across + 1, v.width}});
  weight_and_bias(picture + ".embed.norm", "vision_model.pre_layrnorm", {v.width});
  tower(picture, "vision_model", v);
  weight_and_bias(picture + ".norm", "vision_model.post_layernorm", {v.width});
  out.push_back({picture + ".projection.weight", {"visual_projection.weight"}, {config.projection, v.width}});

  out.push_back({caption + ".embed.token",
                 {"text_model.embeddings.token_embedding.weight"},
                 {config.vocabulary, t.width}});
  out.push_back({caption + ".embed.position",
                 {"text_model.embeddings.position_embedding.weight"},
                 {config.context, t.width}});
  tower(caption, "text_model", t);
  weight_and_bias(caption + ".norm", "text_model.final_layer_norm", {t.width});
  out.push_back({caption + ".projection.weight", {"text_projection.weight"}, {config.projection, t.width}});
  out.push_back({"join.log_scale", {"logit_scale"}, {}});
  return out;
}

// Fills every tensor of `to` from a Hugging Face CLIP model, converting to float. All missing, unexpected and
// differing tensors are named in one error (MT-R53) before anything is written to memory.
inline void load_hf_clip(const tensor_set& from, const std::vector<hf_tensor>& map,
                         std::span<const loaded_tensor> to) {
  std::unordered_map<std::string_view, const hf_tensor*> by_name;
  for (const hf_tensor& row : map) by_name.emplace(row.ours, &row);
  std::string differences;
  std::unordered_map<std::string_view, bool> used;
  for (const loaded_tensor& tensor : to) {
    const auto found = by_name.find(tensor.name);
    index elements = 1;
    for (const index extent : tensor.shape) elements *= extent;
    if (found == by_name.end()) {
      differences += "\n  missing     " + tensor.name + ", for which the format has no name";
      continue;
    }
    const hf_tensor& row = *found->second;
    if (row.elements() != elements) {
      differences += sentence({"\n  differs     ", tensor.name, " ", shape_text(tensor.shape),
                               " is not made of ", row.theirs.size(), " x ", shape_text(row.shape)});
    }
    for (const std::string& name : row.theirs) {
      const stored_tensor* stored = from.find(name);
      used.emplace(name, true);
      if (stored == nullptr) {
        differences += "\n  missing     " + name + " " + shape_text(row.shape);
      } else if (stored->shape != row.shape && !(row.shape.empty() && stored->elements() == 1)) {
        differences += "\n  differs     " + name + " is " + shape_text(stored->shape) + ", wanted " +
                       shape_text(row.shape);
      }
    }
  }
  for (const safetensors_file& file : from.files()) {
    for (const stored_tensor& tensor : file.tensors()) {
      // Older files hold the numbers 0, 1, 2, ... as a buffer.
      if (!used.contains(tensor.name) && !tensor.name.ends_with(".position_ids"))
        differences += "\n  unexpected  " + tensor.name + " " + shape_text(tensor.shape);
    }
  }
  if (!differences.empty()) fail(checkpoint_mismatch, from.path() + ":" + differences + "\n");
  for (const loaded_tensor& tensor : to) {
    float* at = tensor.data;
    for (const std::string& name : by_name.at(tensor.name)->theirs) {
      const stored_tensor& stored = from.at(name);
      copy_elements(stored, at);
      at += stored.elements();
    }
  }
}

}  // namespace motet
