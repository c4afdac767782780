// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/file.hpp>
#include <motet/format/hf/hf_fields.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace motet {

// A configuration is what config.json of a Hugging Face language model (Llama, Qwen2, Qwen3) says, with the
// defaults of the transformers package for absent fields.
struct hf_decoder_config {
  std::string family;  // model_type
  isize vocabulary = 0, context = 0;
  isize width = 0, hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_width = 0;
  double epsilon = 1e-6;
  double rotary = 10000;
  // decoder_config says what each means
  double factor = 1, slow = 1, fast = 4;
  isize trained = 0;
  bool bias = false, out_bias = false, mlp_bias = false, head_norm = false;
  bool tied = false;  // the table of tokens is the last product, too
};

constexpr bool is_hf_decoder(std::string_view model_type) {
  return model_type == "llama" || model_type == "qwen2" || model_type == "qwen3";
}

// The field model_type of config.json; "clip" where there is none.
inline std::string read_hf_model_type(std::string_view text, const std::string& where) {
  const json whole = read_json(text, where);
  return hf_fields(&whole, where).text("model_type", "clip");
}
inline std::string read_hf_model_type(const std::filesystem::path& folder) {
  const mapped_file file(folder / "config.json");
  return read_hf_model_type(file.text(), (folder / "config.json").string());
}

namespace detail {

// Newer files have all of it in rope_parameters; older ones the base beside rope_scaling.
inline void read_hf_turns(const hf_fields& top, const std::string& where, hf_decoder_config& config) {
  config.rotary = top.real("rope_theta", 10000);
  const json* const newer = top.find_any("rope_parameters");
  const hf_fields turns(newer != nullptr ? newer : top.find_any("rope_scaling"),
                        where + (newer != nullptr ? ": rope_parameters" : ": rope_scaling"));
  config.rotary = turns.real("rope_theta", config.rotary);
  if (!(config.rotary > 0)) top.refuse("rope_theta", "is not positive");
  if (turns.real("partial_rotary_factor", top.real("partial_rotary_factor", 1)) != 1)
    turns.refuse("partial_rotary_factor", "is not 1: heads turn as a whole here");
  const std::string kind = turns.text("rope_type", turns.text("type", "default"));
  if (kind == "default") return;
  if (kind != "linear" && kind != "llama3")
    turns.refuse("rope_type", "is \"" + kind + "\"; offered are default, linear and llama3");
  config.factor = turns.real("factor", 1);
  if (!(config.factor >= 1)) turns.refuse("factor", "is less than 1");
  if (kind == "linear" || config.factor == 1) return;
  config.slow = turns.real("low_freq_factor", 1);
  config.fast = turns.real("high_freq_factor", 4);
  config.trained = turns.size("original_max_position_embeddings", config.context);
  if (!(config.slow < config.fast)) turns.refuse("low_freq_factor", "is not less than high_freq_factor");
}

}  // namespace detail

// Reads config.json, or the part of it that is a language model, whose family may be known otherwise. A field
// that asks for what no net here computes is MT-F13 and named. `where` stands in the message.
inline hf_decoder_config read_hf_decoder_config(const hf_fields& top, const std::string& where,
                                                const std::string& otherwise = "") {
  hf_decoder_config config;
  config.family = top.text("model_type", otherwise);
  if (!is_hf_decoder(config.family))
    top.refuse("model_type",
               "is \"" + config.family + "\"; offered are clip, llama, qwen2, qwen3, llava and whisper");
  const bool llama = config.family == "llama", qwen3 = config.family == "qwen3";
  config.vocabulary = top.size("vocab_size", llama ? 32000 : 151936);
  config.context = top.size("max_position_embeddings", llama ? 2048 : 32768);
  config.width = top.size("hidden_size", 4096);
  config.hidden = top.size("intermediate_size", llama ? 11008 : 22016);
  config.layers = top.size("num_hidden_layers", 32);
  config.heads = top.size("num_attention_heads", 32);
  // Llamas without the field are of a time before it, and null stands for all heads.
  if (top.find_any("num_key_value_heads") != nullptr) config.kv_heads = top.size("num_key_value_heads", 0);
  else config.kv_heads = llama || top.find("num_key_value_heads") != nullptr ? config.heads : 32;
  const bool own_width = top.find_any("head_dim") != nullptr;
  if (!own_width && !qwen3 && config.width % config.heads != 0)
    top.refuse("num_attention_heads",
               sentence({"is ", config.heads, ", which does not divide hidden_size ", config.width}));
  config.head_width = own_width ? top.size("head_dim", 0) : qwen3 ? 128 : config.width / config.heads;
  if (config.heads % config.kv_heads != 0)
    top.refuse(
        "num_key_value_heads",
        sentence({"is ", config.kv_heads, ", which does not divide num_attention_heads ", config.heads}));
  if (config.head_width % 2 != 0)
    top.refuse("head_dim", sentence({"is ", config.head_width, ": turns take pairs of numbers"}));
  config.epsilon = top.real("rms_norm_eps", 1e-6);
  if (!(config.epsilon >= 0) || config.epsilon > 1) top.refuse("rms_norm_eps", "is not between 0 and 1");
  if (const std::string act = top.text("hidden_act", "silu"); act != "silu" && act != "swish")
    top.refuse("hidden_act", "is \"" + act + "\"; offered is silu");
  const bool attention = top.flag("attention_bias", false);
  config.bias = config.family == "qwen2" || attention;
  config.out_bias = config.family != "qwen2" && attention;
  config.mlp_bias = llama && top.flag("mlp_bias", false);
  config.head_norm = qwen3;
  config.tied = top.flag("tie_word_embeddings", false);
  if (top.flag("use_sliding_window", false))
    top.refuse("use_sliding_window", "is true: every row sees all rows before it here");
  detail::read_hf_turns(top, where, config);
  return config;
}
inline hf_decoder_config read_hf_decoder_config(std::string_view text, const std::string& where) {
  const json whole = read_json(text, where);
  return read_hf_decoder_config(hf_fields(&whole, where), where);
}
inline hf_decoder_config read_hf_decoder_config(const std::filesystem::path& folder) {
  const mapped_file file(folder / "config.json");
  return read_hf_decoder_config(file.text(), (folder / "config.json").string());
}

// A net, as describe() tells it (model/describe.hpp), may be the one that a configuration asks for.
// Numbers that are no counts are compared as nets hold them.
inline bool same_net(const hf_decoder_config& config, const json& net) {
  const auto count = [&](const char* name, isize value) { return net.at(name).integer() == value; };
  const auto real = [&](const json& in, const char* name, double value) {
    return static_cast<float>(in.at(name).number()) == static_cast<float>(value);
  };
  const auto flag = [&](const char* name, bool value) { return net.at(name).boolean() == value; };
  if (net.at("net").string() != "decoder" || net.find("mixture") != nullptr) return false;
  const json* const scaling = net.find("scaling");
  if ((scaling != nullptr) != (config.factor != 1)) return false;
  if (scaling != nullptr &&
      !(real(*scaling, "factor", config.factor) && scaling->at("context").integer() == config.trained &&
        (config.trained == 0 ||
         (real(*scaling, "slow", config.slow) && real(*scaling, "fast", config.fast)))))
    return false;
  return count("vocabulary", config.vocabulary) && count("context", config.context) &&
         count("width", config.width) && count("layers", config.layers) && count("heads", config.heads) &&
         count("kv_heads", config.kv_heads) && count("head_width", config.head_width) &&
         count("hidden", config.hidden) && real(net, "epsilon", config.epsilon) &&
         real(net, "rotary", config.rotary) && flag("gated", true) && flag("bias", config.bias) &&
         flag("out_bias", config.out_bias) && flag("mlp_bias", config.mlp_bias) &&
         flag("head_norm", config.head_norm) && (net.find("tied") != nullptr) == config.tied &&
         net.at("norm").string() == "rms";
}

}  // namespace motet
