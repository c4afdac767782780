// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_clip.hpp>
#include <motet/format/hf/hf_clip_tensors.hpp>
#include <motet/format/hf/hf_decoder.hpp>
#include <motet/format/hf/hf_decoder_tensors.hpp>

namespace motet {

// A configuration is what config.json of a Hugging Face model in LLaVA's form says: an eye of CLIP or SigLIP,
// two products, a language model; with the defaults of the transformers package for absent fields.
struct hf_llava_config {
  bool siglip = false;  // the eye: a bias of patches, and neither class token nor first norm
  hf_tower eye;         // with all its layers, of which the first `seen` are computed
  isize image = 0, patch = 0, channels = 3, seen = 0;
  isize lead = 0;  // rows of each picture that the language model does not see
  std::string act = "gelu";
  bool bias = true;  // of the two products
  hf_decoder_config words;
  std::int64_t picture_token = 32000;  // stands for each row of a picture

  isize covered() const { return image / patch * patch; }
  isize rows_of_picture() const { return (image / patch) * (image / patch) + (siglip ? 0 : 1); }
};

// Reads the text of config.json. A field that asks for what no net here computes is MT-F13 and named. `where`
// stands in the message.
inline hf_llava_config read_hf_llava_config(std::string_view text, const std::string& where) {
  const json whole = read_json(text, where);
  const hf_fields top(&whole, where);
  if (const std::string type = top.text("model_type", ""); type != "llava")
    top.refuse("model_type", "is \"" + type + "\", wanted llava");
  const hf_fields vision(top.find_any("vision_config"), where + ": vision_config");
  const std::string words_at = where + ": text_config";
  hf_llava_config config;
  const std::string family = vision.text("model_type", "clip_vision_model");
  if (family != "clip_vision_model" && family != "siglip_vision_model")
    vision.refuse("model_type",
                  "is \"" + family + "\"; offered are clip_vision_model and siglip_vision_model");
  config.siglip = family == "siglip_vision_model";
  // An absent eye is that of LLaVA 1.5, CLIP ViT-L/14 for 336 pixels; absent fields of one are those of its
  // own family.
  const bool absent = top.find_any("vision_config") == nullptr;
  config.eye = config.siglip ? detail::read_hf_tower(vision, 768, 3072, 12, "gelu_pytorch_tanh", 1e-6)
                             : detail::read_hf_tower(vision, absent ? 1024 : 768, absent ? 4096 : 3072,
                                                     absent ? 16 : 12);
  if (absent) config.eye.layers = 24;
  config.image = vision.size("image_size", absent ? 336 : 224);
  config.patch = vision.size("patch_size", absent ? 14 : config.siglip ? 16 : 32);
  config.channels = vision.size("num_channels", 3);
  if (config.patch > config.image) vision.refuse("patch_size", "is larger than image_size");
  // -2: what the last layer but one wrote.
  std::int64_t layer = -2;
  if (const json* const found = top.find_any("vision_feature_layer")) {
    if (!found->is_integer())
      top.refuse("vision_feature_layer",
                 std::string("is ") + found->kind() + ", wanted the number of one layer");
    layer = found->integer();
  }
  config.seen = static_cast<isize>(layer < 0 ? config.eye.layers + 1 + layer : layer);
  if (config.seen < 1 || config.seen > config.eye.layers)
    top.refuse("vision_feature_layer",
               sentence({"is ", layer, ", the eye has ", config.eye.layers, " layers"}));
  const std::string strategy = top.text("vision_feature_select_strategy", "default");
  if (strategy != "default" && strategy != "full")
    top.refuse("vision_feature_select_strategy", "is \"" + strategy + "\"; offered are default and full");
  config.lead = strategy == "default" ? 1 : 0;
  config.act = detail::hf_activation(top, "projector_hidden_act", "gelu");
  config.bias = top.flag("multimodal_projector_bias", true);
  config.words = read_hf_decoder_config(hf_fields(top.find_any("text_config"), words_at), words_at, "llama");
  const char* const token = top.find("image_token_index") != nullptr ? "image_token_index" : "image_token_id";
  if (const json* const found = top.find(token)) {
    if (!found->is_integer()) top.refuse(token, std::string("is ") + found->kind() + ", wanted one token");
    config.picture_token = found->integer();
  }
  if (config.picture_token < 0) top.refuse(token, "is negative");
  return config;
}
inline hf_llava_config read_hf_llava_config(const std::filesystem::path& folder) {
  const mapped_file file(folder / "config.json");
  return read_hf_llava_config(file.text(), (folder / "config.json").string());
}

// Newer files name the eye without `vision_model`.
inline std::string hf_llava_eye(const tensor_set& from) {
  return from.find("vision_tower.vision_model.embeddings.patch_embedding.weight") != nullptr
             ? "vision_tower.vision_model."
             : "vision_tower.";
}
// The names are those of the parts of such a model here: all within one module, or each one of its own.
struct hf_llava_names {
  std::string eye, glue, talk;
  hf_llava_names(const char* module) : hf_llava_names(std::string(module)) {}
  hf_llava_names(const std::string& module)
      : eye(module + ".embed.eye"), glue(module + ".embed.glue"), talk(module) {}
  hf_llava_names(std::string of_eye, std::string of_glue, std::string of_talk)
      : eye(std::move(of_eye)), glue(std::move(of_glue)), talk(std::move(of_talk)) {}
};
// All tensors that are computed with, by those names.
inline std::vector<hf_tensor> hf_llava_tensors(const hf_llava_config& config,
                                               const hf_llava_names& names = "talk",
                                               const std::string& theirs = "vision_tower.vision_model.") {
  std::vector<hf_tensor> out;
  hf_tower eye = config.eye;
  eye.layers = config.seen;
  const std::string& ours = names.eye;
  const std::string patch = "embeddings.patch_embedding";
  const isize across = config.image / config.patch;
  const auto one = [&](const std::string& name, const std::string& of, const std::vector<isize>& shape) {
    out.push_back({ours + name, {{theirs + of, shape}}});
  };
  one(".embed.patch.weight", patch + ".weight", {eye.width, config.channels, config.patch, config.patch});
  if (config.siglip) one(".embed.patch.bias", patch + ".bias", {eye.width});
  else one(".embed.class", "embeddings.class_embedding", {eye.width});
  one(".embed.position", "embeddings.position_embedding.weight",
      {across * across + (config.siglip ? 0 : 1), eye.width});
  if (!config.siglip) detail::add_hf_pair(out, ours + ".embed.norm", theirs + "pre_layrnorm", {eye.width});
  detail::add_hf_blocks(out, ours, theirs, eye);
  const isize width = config.words.width;
  const auto product = [&](const char* name, const char* of, isize in) {
    const std::string glue = names.glue + "." + name, linear = std::string("multi_modal_projector.") + of;
    out.push_back({glue + ".weight", {{linear + ".weight", {width, in}}}});
    if (config.bias) out.push_back({glue + ".bias", {{linear + ".bias", {width}}}});
  };
  product("up", "linear_1", eye.width);
  product("down", "linear_2", width);
  const auto words = hf_decoder_tensors(config.words, names.talk, "language_model.");
  out.insert(out.end(), words.begin(), words.end());
  return out;
}
// Such files hold these of the eye, behind the layers that are seen.
inline std::vector<std::string> hf_llava_unread(const hf_llava_config& config, const std::string& theirs) {
  std::vector<std::string> out{theirs + "post_layernorm.", theirs + "head."};
  for (isize i = config.seen; i < config.eye.layers; ++i)
    out.push_back(sentence({theirs, "encoder.layers.", i, "."}));
  return out;
}

}  // namespace motet
