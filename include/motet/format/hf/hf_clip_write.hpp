// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_clip_tensors.hpp>

namespace motet {

namespace detail {

inline json hf_tower_json(const hf_tower& t, isize projection, const char* type) {
  // The name of each activation in the transformers package.
  const std::string act = t.activation == "gelu_tanh" ? "gelu_pytorch_tanh" : t.activation;
  return json{{"model_type", type},
              {"hidden_size", t.width},
              {"intermediate_size", t.hidden},
              {"num_hidden_layers", t.layers},
              {"num_attention_heads", t.heads},
              {"hidden_act", act},
              {"layer_norm_eps", t.epsilon},
              {"projection_dim", projection},
              {"attention_dropout", 0.0}};
}

}  // namespace detail

// The text of config.json; read_hf_clip_config is its inverse.
inline std::string write_hf_clip_config(const hf_clip_config& config, dtype kind = dtype::f32) {
  json vision = detail::hf_tower_json(config.vision, config.projection, "clip_vision_model");
  vision.set("image_size", config.image).set("patch_size", config.patch).set("num_channels", config.channels);
  json text = detail::hf_tower_json(config.text, config.projection, "clip_text_model");
  text.set("vocab_size", config.vocabulary).set("max_position_embeddings", config.context);
  text.set("bos_token_id", config.end_token > 0 ? config.end_token - 1 : 0)
      .set("eos_token_id", config.end_token)
      .set("pad_token_id", config.end_token);
  const json whole{{"architectures", json::array{"CLIPModel"}},
                   {"model_type", "clip"},
                   {"projection_dim", config.projection},
                   {"logit_scale_init_value", config.logit_scale},
                   {"torch_dtype", hf_name_of(kind)},
                   {"vision_config", std::move(vision)},
                   {"text_config", std::move(text)}};
  return write_json(whole, 2) + "\n";
}

// Writes a folder as CLIPModel.from_pretrained of the transformers package reads it. Numbers of a loss that
// the format does not know, e.g. a learned bias, are left out.
inline void save_hf_clip(const std::filesystem::path& folder, const hf_clip_config& config,
                         std::span<const saved_tensor> from, const std::string& picture = "picture",
                         const std::string& caption = "caption", const tensor_storage& as = {}) {
  save_hf_tensors(folder, hf_clip_tensors(config, picture, caption), from,
                  write_hf_clip_config(config, as.kind), "join.", as);
}

}  // namespace motet
