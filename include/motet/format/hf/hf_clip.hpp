// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/file.hpp>
#include <motet/format/hf/hf_fields.hpp>
#include <motet/meta/config.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace motet {

// Towers and their configuration have what config.json of a Hugging Face CLIP model says, with the defaults
// of the transformers package for absent fields.
struct hf_tower {
  isize width = 0, hidden = 0, layers = 0, heads = 0;
  std::string activation;  // as here: "gelu", "gelu_tanh", "quick_gelu", "relu", "silu"
  double epsilon = 1e-5;
};
struct hf_clip_config {
  hf_tower vision, text;
  isize image = 0, patch = 0, channels = 3;
  isize vocabulary = 0, context = 0;
  isize end_token = 0;  // see hf_end_position
  isize projection = 0;
  double logit_scale = 0;  // the logarithm at the start of training
  bool dropout = false;    // attention_dropout is not zero; features do not depend on it

  // Side of the part of a picture that whole patches cover: a convolution drops the pixels right of and below
  // it.
  isize covered() const { return image / patch * patch; }
};

// An eye, as describe() tells it (model/describe.hpp), has positions for pictures of this side.
inline isize hf_learned_image(const json& eye) {
  const json* const other = eye.find("learned_image");
  return static_cast<isize>((other != nullptr ? *other : eye.at("image")).integer());
}

namespace detail {

inline std::string hf_activation(const hf_fields& fields, const char* field = "hidden_act",
                                 const char* otherwise = "quick_gelu") {
  constexpr std::pair<std::string_view, const char*> known[] = {{"quick_gelu", "quick_gelu"},
                                                                {"gelu", "gelu"},
                                                                {"gelu_python", "gelu"},
                                                                {"gelu_new", "gelu_tanh"},
                                                                {"gelu_fast", "gelu_tanh"},
                                                                {"gelu_accurate", "gelu_tanh"},
                                                                {"gelu_pytorch_tanh", "gelu_tanh"},
                                                                {"gelu_python_tanh", "gelu_tanh"},
                                                                {"relu", "relu"},
                                                                {"silu", "silu"},
                                                                {"swish", "silu"}};
  const std::string name = fields.text(field, otherwise);
  for (const auto& [theirs, ours] : known) {
    if (theirs == name) return ours;
  }
  fields.refuse(field, "is \"" + name +
                           "\"; offered are quick_gelu, gelu, gelu_new, gelu_fast, gelu_accurate, "
                           "gelu_pytorch_tanh, relu and silu");
}

inline hf_tower read_hf_tower(const hf_fields& fields, isize width, isize hidden, isize heads,
                              const char* activation = "quick_gelu", double epsilon = 1e-5) {
  hf_tower tower;
  tower.width = fields.size("hidden_size", width);
  tower.hidden = fields.size("intermediate_size", hidden);
  tower.layers = fields.size("num_hidden_layers", 12);
  tower.heads = fields.size("num_attention_heads", heads);
  tower.activation = hf_activation(fields, "hidden_act", activation);
  tower.epsilon = fields.real("layer_norm_eps", epsilon);
  if (!(tower.epsilon >= 0) || tower.epsilon > 1) fields.refuse("layer_norm_eps", "is not between 0 and 1");
  if (tower.width % tower.heads != 0) {
    fields.refuse("num_attention_heads",
                  sentence({"is ", tower.heads, ", which does not divide hidden_size ", tower.width}));
  }
  return tower;
}

}  // namespace detail

// Reads the text of config.json. A field that asks for what no net here computes is MT-F13 and named. `where`
// stands in the message.
inline hf_clip_config read_hf_clip_config(std::string_view text, const std::string& where) {
  const json whole = read_json(text, where);
  const hf_fields top(&whole, where);
  if (const std::string type = top.text("model_type", "clip"); type != "clip")
    top.refuse("model_type", "is \"" + type + "\"; offered are clip, llama, qwen2, qwen3, llava and whisper");
  // Older files repeat the parts as *_config_dict; that package lets these win, with its defaults for what
  // they leave out.
  const auto part = [&](const std::string& name) {
    const json* older = top.find(name + "_dict");
    const bool use_older = older != nullptr && !older->is_null();
    const json* found = use_older ? older : top.find(name);
    if (found != nullptr && found->is_null()) found = nullptr;
    return hf_fields(found, where + ": " + name + (use_older ? "_dict" : ""));
  };
  const hf_fields vision = part("vision_config"), caption = part("text_config");

  hf_clip_config config;
  config.vision = detail::read_hf_tower(vision, 768, 3072, 12);
  config.image = vision.size("image_size", 224);
  config.patch = vision.size("patch_size", 32);
  config.channels = vision.size("num_channels", 3);
  if (config.patch > config.image) vision.refuse("patch_size", "is larger than image_size");

  config.text = detail::read_hf_tower(caption, 512, 2048, 8);
  config.vocabulary = caption.size("vocab_size", 49408);
  config.context = caption.size("max_position_embeddings", 77);
  config.end_token = 49407;
  if (const json* end = caption.find("eos_token_id")) {
    if (!end->is_integer())
      caption.refuse("eos_token_id", std::string("is ") + end->kind() + ", wanted one token");
    config.end_token = static_cast<isize>(end->integer());
  }
  config.projection = top.size("projection_dim", 512);
  config.logit_scale = top.real("logit_scale_init_value", 2.6592);
  config.dropout = vision.real("attention_dropout", 0) != 0 || caption.real("attention_dropout", 0) != 0;
  return config;
}
inline hf_clip_config read_hf_clip_config(const std::filesystem::path& folder) {
  const mapped_file file(folder / "config.json");
  return read_hf_clip_config(file.text(), (folder / "config.json").string());
}

// A caption is pooled here: the first end token; the first of the highest tokens when the configuration has
// the end token 2, which stood there by mistake in older files; the first token of all when there is none.
// The text tower is causal, so what follows that position has no influence and a caption may be cut behind
// it.
template <class Token>
isize hf_end_position(const Token* tokens, isize count, isize end_token) {
  isize found = 0;
  if (end_token == 2) {
    for (isize i = 1; i < count; ++i) {
      if (tokens[i] > tokens[found]) found = i;
    }
    return found;
  }
  while (found < count && static_cast<isize>(tokens[found]) != end_token) ++found;
  return found < count ? found : 0;
}

}  // namespace motet
