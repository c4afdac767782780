// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_decoder_tensors.hpp>

namespace motet {

// A model's description (model/describe.hpp) of one decoder as a Hugging Face configuration, with the name of
// its module. What has no counterpart there is MT-F14; all of it is named in one error.
struct hf_described_decoder {
  hf_decoder_config config;
  std::string module;
};

inline bool is_described_decoder(const json& description) {
  const json* const modules = description.is_object() ? description.find("modules") : nullptr;
  if (modules == nullptr || modules->items().size() != 1) return false;
  const json* const net = modules->items()[0].find("net");
  return net != nullptr && net->at("net").string() == "decoder";
}

inline hf_described_decoder describe_as_hf_decoder(const json& description) {
  if (!is_described_decoder(description)) fail(hf_not_expressible, "it is not one decoder");
  const json &module = description.at("modules").items()[0], &net = module.at("net");
  hf_described_decoder out;
  out.module = module.at("name").string();
  std::string wrong;
  const auto wanted = [&](const char* field, const json& value) {
    if (!(net.at(field) == value)) wrong += "\n  " + out.module + "." + field + " differs";
  };
  wanted("gated", true);
  wanted("norm", "rms");
  if (net.find("mixture") != nullptr) wrong += "\n  " + out.module + " has experts";
  if (net.find("adapters") != nullptr) wrong += "\n  " + out.module + " has adapters, which are not merged";
  if (net.at("rotary").number() == 0) wrong += "\n  " + out.module + ".rotary is zero";
  const auto count = [&](const char* field) { return static_cast<isize>(net.at(field).integer()); };
  hf_decoder_config& c = out.config;
  c.vocabulary = count("vocabulary");
  c.context = count("context");
  c.width = count("width");
  c.hidden = count("hidden");
  c.layers = count("layers");
  c.heads = count("heads");
  c.kv_heads = count("kv_heads");
  c.head_width = count("head_width");
  c.epsilon = net.at("epsilon").number();
  c.rotary = net.at("rotary").number();
  if (const json* const scaling = net.find("scaling")) {
    c.factor = scaling->at("factor").number();
    c.slow = scaling->at("slow").number();
    c.fast = scaling->at("fast").number();
    c.trained = static_cast<isize>(scaling->at("context").integer());
  }
  c.bias = net.at("bias").boolean();
  c.out_bias = net.at("out_bias").boolean();
  c.mlp_bias = net.at("mlp_bias").boolean();
  c.head_norm = net.at("head_norm").boolean();
  c.tied = net.find("tied") != nullptr;
  c.family = c.head_norm ? "qwen3" : c.bias && !c.out_bias ? "qwen2" : "llama";
  if (c.bias != c.out_bias && c.family != "qwen2")
    wrong += "\n  " + out.module + ".bias is not .out_bias, as only qwen2 has it";
  if (c.mlp_bias && c.family != "llama")
    wrong += "\n  " + out.module + ".mlp_bias is set, as only llama has it";
  if (c.family == "qwen2" && c.head_width * c.heads != c.width)
    wrong += "\n  " + out.module + ".heads times head_width is not width, as qwen2 wants it";
  if (!wrong.empty()) fail(hf_not_expressible, wrong + "\n");
  return out;
}

// The text of config.json; read_hf_decoder_config is its inverse.
inline std::string write_hf_decoder_config(const hf_decoder_config& config, dtype kind = dtype::f32) {
  const char* const name = config.family == "llama"   ? "LlamaForCausalLM"
                           : config.family == "qwen2" ? "Qwen2ForCausalLM"
                                                      : "Qwen3ForCausalLM";
  json turns{{"rope_type", "default"}, {"rope_theta", config.rotary}};
  if (config.factor != 1)
    turns.set("rope_type", config.trained == 0 ? "linear" : "llama3").set("factor", config.factor);
  if (config.trained != 0)
    turns.set("low_freq_factor", config.slow)
        .set("high_freq_factor", config.fast)
        .set("original_max_position_embeddings", config.trained);
  json whole{{"architectures", json::array{name}},
             {"model_type", config.family},
             {"dtype", hf_name_of(kind)},
             {"vocab_size", config.vocabulary},
             {"max_position_embeddings", config.context},
             {"hidden_size", config.width},
             {"intermediate_size", config.hidden},
             {"num_hidden_layers", config.layers},
             {"num_attention_heads", config.heads},
             {"num_key_value_heads", config.kv_heads},
             {"head_dim", config.head_width},
             {"hidden_act", "silu"},
             {"rms_norm_eps", config.epsilon},
             {"rope_parameters", std::move(turns)},
             {"attention_bias", config.bias},
             {"tie_word_embeddings", config.tied}};
  if (config.family == "llama") whole.set("mlp_bias", config.mlp_bias);
  return write_json(whole, 2) + "\n";
}

// Writes a folder as from_pretrained of the transformers package reads it.
inline void save_hf_decoder(const std::filesystem::path& folder, const hf_decoder_config& config,
                            std::span<const saved_tensor> from, const std::string& module = "text",
                            const tensor_storage& as = {}) {
  save_hf_tensors(folder, hf_decoder_tensors(config, module), from, write_hf_decoder_config(config, as.kind),
                  "", as);
}

}  // namespace motet
