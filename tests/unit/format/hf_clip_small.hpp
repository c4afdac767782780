// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_clip_tensors.hpp>

#include <map>

// A CLIP model of two picture blocks and one caption block.
inline motet::hf_clip_config small_clip() {
  return motet::read_hf_clip_config(R"({"projection_dim": 3, "logit_scale_init_value": 1.5,
    "vision_config": {"hidden_size": 6, "intermediate_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 5, "patch_size": 2, "hidden_act": "gelu_pytorch_tanh"},
    "text_config": {"hidden_size": 4, "intermediate_size": 7, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 9, "max_position_embeddings": 5, "eos_token_id": 8}})",
                                    "config.json");
}

// Room for each of our tensors, as flat vectors.
inline std::vector<motet::loaded_tensor> small_clip_room(std::vector<std::vector<float>>& values) {
  std::vector<motet::loaded_tensor> out;
  const auto map = motet::hf_clip_tensors(small_clip());
  values.reserve(map.size());
  for (const auto& row : map) {
    auto& own = values.emplace_back(static_cast<std::size_t>(row.elements()));
    out.push_back({row.ours, {row.elements()}, own.data()});
  }
  return out;
}
