// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_decoder_write.hpp>
#include <motet/format/hf/hf_llava.hpp>

#include <optional>

namespace motet {

// A model's description (model/describe.hpp) of one language model that sees, its eye inside it or a module
// of its own, as a Hugging Face configuration in LLaVA's form. What has no counterpart there is MT-F14; all
// of it is named in one error.
struct hf_described_llava {
  hf_llava_config config;
  hf_llava_names names = "talk";
};

// The parts of such a description; none: it is another.
struct described_sight {
  json eye, glue, words;
  hf_llava_names names;
};
inline std::optional<described_sight> described_seeing_decoder(const json& description) {
  const json* const modules = description.is_object() ? description.find("modules") : nullptr;
  if (modules == nullptr) return {};
  const auto& all = modules->items();
  const auto net_of = [&](std::size_t k, const char* kind) -> const json* {
    const json* const net = all[k].find("net");
    return net != nullptr && net->find("net") != nullptr && net->at("net").string() == kind ? net : nullptr;
  };
  const auto name_of = [&](std::size_t k) { return all[k].at("name").string(); };
  if (all.size() == 1) {
    const json* const net = net_of(0, "seeing_decoder");
    if (net == nullptr) return {};
    return described_sight{net->at("eye"), net->at("glue"), net->at("words"), name_of(0)};
  }
  if (all.size() != 3) return {};
  std::size_t eye = 3, glue = 3, words = 3;
  for (std::size_t k = 0; k < 3; ++k) {
    if (net_of(k, "vit_rows") != nullptr) eye = k;
    if (net_of(k, "rows_through") != nullptr) glue = k;
    if (net_of(k, "fed_decoder") != nullptr) words = k;
  }
  if (eye == 3 || glue == 3 || words == 3) return {};
  described_sight out{all[eye].at("net"),
                      all[glue].at("net"),
                      all[words].at("net"),
                      {name_of(eye), name_of(glue), name_of(words)}};
  out.words.set("net", "decoder");
  return out;
}

// `lead`: rows of each picture that were not shown; there the first one may be left out, or none.
inline hf_described_llava describe_as_hf_llava(const json& description) {
  const std::optional<described_sight> found = described_seeing_decoder(description);
  if (!found) fail(hf_not_expressible, "it is not one decoder that sees");
  hf_described_llava out;
  out.names = found->names;
  const json &eye = found->eye, &glue = found->glue;
  std::string wrong;
  const auto unlike = [&](const std::string& what) { wrong += "\n  " + out.names.eye + what; };
  hf_llava_config& c = out.config;
  const auto count = [&](const char* field) { return static_cast<isize>(eye.at(field).integer()); };
  const std::string pool = eye.at("pool").string();
  c.siglip = pool != "first";
  c.image = hf_learned_image(eye), c.patch = count("patch"), c.channels = count("channels");
  c.eye = {count("width"), count("hidden"),        count("layers"),
           count("heads"), eye.at("act").string(), eye.at("epsilon").number()};
  c.seen = c.eye.layers;
  if (eye.at("normed").boolean())
    unlike(" has a norm behind its last layer (picture_rows<config, false> has none)");
  if (eye.at("position").string() != "learned") unlike(".position is not learned");
  if (eye.at("norm").string() != "layer") unlike(".norm is not layer");
  if (eye.at("gated").boolean()) unlike(".gated is set");
  if (eye.find("mixture") != nullptr) unlike(" has experts");
  if (eye.find("squares") != nullptr) unlike(" joins squares of its rows");
  if (eye.find("most_patches") != nullptr) unlike(" sees pictures of any shape");
  if (count("kv_heads") != c.eye.heads || count("head_width") * c.eye.heads != c.eye.width)
    unlike(" has heads of another kind than CLIP's");
  if (c.siglip == eye.at("pre_norm").boolean() || c.siglip != eye.at("patch_bias").boolean())
    unlike(c.siglip ? " has no class token, so SigLIP's form is wanted: patch_bias, and no pre_norm"
                    : " has a class token, so CLIP's form is wanted: pre_norm, and no patch_bias");
  c.lead = c.siglip ? 0 : 1;
  const json* const act = glue.find("act");
  if (act == nullptr || glue.at("hidden").integer() != glue.at("out").integer())
    wrong +=
        "\n  " + out.names.glue + " is not two products with an activation, the first as wide as the words";
  else c.act = act->string(), c.bias = glue.at("bias").boolean();
  const json words{{"modules", json::array{json{{"name", out.names.talk}, {"net", found->words}}}}};
  try {
    c.words = describe_as_hf_decoder(words).config;
  } catch (const error& problem) {
    if (std::string_view(problem.code()) != hf_not_expressible.code) throw;
    wrong += "\n  " + std::string(problem.what());
  }
  if (!wrong.empty()) fail(hf_not_expressible, wrong + "\n");
  return out;
}

// A net, as describe() tells it, may be the one that a configuration asks for.
inline bool same_net(const hf_llava_config& config, const json& description) {
  const std::optional<described_sight> found = described_seeing_decoder(description);
  if (!found || !same_net(config.words, found->words)) return false;
  const json &eye = found->eye, &glue = found->glue;
  const auto count = [&](const char* name, isize value) { return eye.at(name).integer() == value; };
  return hf_learned_image(eye) == config.covered() && count("patch", config.patch) &&
         count("channels", config.channels) && count("width", config.eye.width) &&
         count("layers", config.seen) && count("heads", config.eye.heads) &&
         count("hidden", config.eye.hidden) && eye.at("act").string() == config.eye.activation &&
         static_cast<float>(eye.at("epsilon").number()) == static_cast<float>(config.eye.epsilon) &&
         !eye.at("normed").boolean() && (eye.at("pool").string() == "first") == !config.siglip &&
         eye.at("pre_norm").boolean() == !config.siglip && eye.at("patch_bias").boolean() == config.siglip &&
         glue.find("act") != nullptr && glue.at("act").string() == config.act &&
         glue.at("bias").boolean() == config.bias;
}

namespace detail {

inline std::string hf_activation_name(const std::string& ours) {
  return ours == "gelu_tanh" ? "gelu_pytorch_tanh" : ours;
}

}  // namespace detail

// The text of config.json; read_hf_llava_config is its inverse.
inline std::string write_hf_llava_config(const hf_llava_config& config, dtype kind = dtype::f32) {
  json words = read_json(write_hf_decoder_config(config.words, kind), "text_config");
  json vision{{"model_type", config.siglip ? "siglip_vision_model" : "clip_vision_model"},
              {"hidden_size", config.eye.width},
              {"intermediate_size", config.eye.hidden},
              {"num_hidden_layers", config.seen},
              {"num_attention_heads", config.eye.heads},
              {"image_size", config.image},
              {"patch_size", config.patch},
              {"num_channels", config.channels},
              {"hidden_act", detail::hf_activation_name(config.eye.activation)},
              {"layer_norm_eps", config.eye.epsilon}};
  if (config.siglip) vision.set("vision_use_head", false);
  const json whole{{"architectures", json::array{"LlavaForConditionalGeneration"}},
                   {"model_type", "llava"},
                   {"dtype", hf_name_of(kind)},
                   {"vision_config", std::move(vision)},
                   {"text_config", std::move(words)},
                   {"image_token_index", config.picture_token},
                   {"image_seq_length", config.rows_of_picture() - config.lead},
                   {"vision_feature_layer", -1},
                   {"vision_feature_select_strategy", config.lead == 1 ? "default" : "full"},
                   {"projector_hidden_act", detail::hf_activation_name(config.act)},
                   {"multimodal_projector_bias", config.bias},
                   {"tie_word_embeddings", config.words.tied}};
  return write_json(whole, 2) + "\n";
}

// Writes a folder as from_pretrained of the transformers package reads it. What files have and nobody
// computes is what changes nothing: a norm behind the eye's last layer, and a token of its own behind the
// vocabulary that stands for a picture's rows, which generation is told not to say.
inline void save_hf_llava(const std::filesystem::path& folder, hf_llava_config config,
                          std::span<const saved_tensor> from, const hf_llava_names& names = "talk",
                          const tensor_storage& as = {}) {
  std::vector<saved_tensor> all(from.begin(), from.end());
  config.picture_token = config.words.vocabulary++;
  std::vector<std::vector<float>> longer;
  for (saved_tensor& each : all) {
    if ((each.name != names.talk + ".embed.token" && each.name != names.talk + ".head.weight") ||
        each.shape.size() != 2)
      continue;
    const isize size = each.shape[0] * each.shape[1];
    auto& rows = longer.emplace_back(each.data, each.data + size);
    rows.resize(as_size(size + each.shape[1]));
    each.shape[0] += 1;
    each.data = rows.data();
  }
  std::vector<hf_tensor> map = hf_llava_tensors(config, names);
  const std::string name = names.eye + ".norm";
  detail::add_hf_pair(map, name, "vision_tower.vision_model.post_layernorm", {config.eye.width});
  const std::vector<float> ones(as_size(config.eye.width), 1), zeros(as_size(config.eye.width), 0);
  all.push_back({name + ".weight", {config.eye.width}, ones.data()});
  all.push_back({name + ".bias", {config.eye.width}, zeros.data()});
  save_hf_tensors(folder, map, all, write_hf_llava_config(config, as.kind), "", as);
  write_file(folder / "generation_config.json",
             write_json(json{{"suppress_tokens", json::array{config.picture_token}}}, 2) + "\n");
}

}  // namespace motet
