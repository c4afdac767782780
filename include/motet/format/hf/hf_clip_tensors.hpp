// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_clip.hpp>
#include <motet/format/hf/hf_tensors.hpp>

namespace motet {

namespace detail {

inline void add_hf_pair(std::vector<hf_tensor>& out, const std::string& ours, const std::string& theirs,
                        const std::vector<isize>& shape) {
  out.push_back({ours + ".weight", {{theirs + ".weight", shape}}});
  out.push_back({ours + ".bias", {{theirs + ".bias", {shape[0]}}}});
}
// The blocks of a tower as CLIP and SigLIP name them.
inline void add_hf_blocks(std::vector<hf_tensor>& out, const std::string& ours, const std::string& theirs,
                          const hf_tower& t) {
  for (isize i = 0; i < t.layers; ++i) {
    const std::string block = sentence({ours, ".blocks.", i}),
                      layer = sentence({theirs, "encoder.layers.", i});
    add_hf_pair(out, block + ".attention.norm", layer + ".layer_norm1", {t.width});
    for (const char* part : {".weight", ".bias"}) {
      const bool matrix = part == std::string_view(".weight");
      std::vector<hf_part> fused;
      for (const char* projection : {".self_attn.q_proj", ".self_attn.k_proj", ".self_attn.v_proj"})
        fused.push_back({layer + projection + part,
                         matrix ? std::vector<isize>{t.width, t.width} : std::vector<isize>{t.width}});
      out.push_back({block + ".attention.qkv" + part, fused});
    }
    add_hf_pair(out, block + ".attention.out", layer + ".self_attn.out_proj", {t.width, t.width});
    add_hf_pair(out, block + ".mlp.norm", layer + ".layer_norm2", {t.width});
    add_hf_pair(out, block + ".mlp.up", layer + ".mlp.fc1", {t.hidden, t.width});
    add_hf_pair(out, block + ".mlp.down", layer + ".mlp.fc2", {t.width, t.hidden});
  }
}

}  // namespace detail

// All tensors of a CLIP model, by the names that a model has whose modules are called `picture` and
// `caption`.
inline std::vector<hf_tensor> hf_clip_tensors(const hf_clip_config& config,
                                              const std::string& picture = "picture",
                                              const std::string& caption = "caption") {
  std::vector<hf_tensor> out;
  const isize across = config.image / config.patch;
  const hf_tower &v = config.vision, &t = config.text;
  const auto one = [&](const std::string& ours, const std::string& theirs, const std::vector<isize>& shape) {
    out.push_back({ours, {{theirs, shape}}});
  };
  one(picture + ".embed.patch.weight", "vision_model.embeddings.patch_embedding.weight",
      {v.width, config.channels, config.patch, config.patch});
  one(picture + ".embed.class", "vision_model.embeddings.class_embedding", {v.width});
  one(picture + ".embed.position", "vision_model.embeddings.position_embedding.weight",
      {across * across + 1, v.width});
  detail::add_hf_pair(out, picture + ".embed.norm", "vision_model.pre_layrnorm", {v.width});
  detail::add_hf_blocks(out, picture, "vision_model.", v);
  detail::add_hf_pair(out, picture + ".norm", "vision_model.post_layernorm", {v.width});
  one(picture + ".projection.weight", "visual_projection.weight", {config.projection, v.width});

  one(caption + ".embed.token", "text_model.embeddings.token_embedding.weight", {config.vocabulary, t.width});
  one(caption + ".embed.position", "text_model.embeddings.position_embedding.weight",
      {config.context, t.width});
  detail::add_hf_blocks(out, caption, "text_model.", t);
  detail::add_hf_pair(out, caption + ".norm", "text_model.final_layer_norm", {t.width});
  one(caption + ".projection.weight", "text_projection.weight", {config.projection, t.width});
  one("join.log_scale", "logit_scale", {});
  return out;
}

}  // namespace motet
