// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_llava_write.hpp>
#include <motet/format/hf/hf_whisper.hpp>

#include <optional>

namespace motet {

// A model's description (model/describe.hpp) of an encoder of sounds and a decoder that looks at its rows, as
// a Hugging Face configuration in Whisper's form, with the names of both modules. What has no counterpart
// there is MT-F14; all of it is named in one error.
struct hf_described_whisper {
  hf_whisper_config config;
  std::string ear, talk;
};

// The encoder and the decoder of such a description; none: it is another.
struct described_hearing {
  json ear, talk;  // modules with their nets
};
inline std::optional<described_hearing> described_hearing_decoder(const json& description) {
  const json* const modules = description.is_object() ? description.find("modules") : nullptr;
  if (modules == nullptr || modules->items().size() != 2) return {};
  described_hearing out;
  for (const json& each : modules->items()) {
    const json* const net = each.find("net");
    if (net == nullptr || net->find("net") == nullptr) return {};
    const std::string kind = net->at("net").string();
    if (kind == "sound_rows") out.ear = each;
    if (kind == "cross_decoder") out.talk = each;
  }
  if (!out.ear.is_object() || !out.talk.is_object()) return {};
  return out;
}

inline hf_described_whisper describe_as_hf_whisper(const json& description) {
  const std::optional<described_hearing> found = described_hearing_decoder(description);
  if (!found) fail(hf_not_expressible, "it is not an encoder of sounds and a decoder that looks at its rows");
  const json &ear = found->ear.at("net"), &talk = found->talk.at("net");
  hf_described_whisper out{{}, found->ear.at("name").string(), found->talk.at("name").string()};
  std::string wrong;
  const auto tower_of = [&](const json& net, const std::string& name) {
    const auto count = [&](const char* field) { return static_cast<isize>(net.at(field).integer()); };
    const auto unlike = [&](const char* what) { wrong += "\n  " + name + what; };
    if (net.at("gated").boolean()) unlike(".gated is set");
    if (net.at("norm").string() != "layer") unlike(".norm is not layer");
    if (net.find("mixture") != nullptr) unlike(" has experts");
    if (net.find("adapters") != nullptr) unlike(" has adapters, which are not merged");
    if (count("kv_heads") != count("heads") || count("head_width") * count("heads") != count("width"))
      unlike(" has heads of another kind than Whisper's");
    if (static_cast<float>(net.at("epsilon").number()) != 1e-5f) unlike(".epsilon is not 1e-5");
    return hf_tower{count("width"), count("hidden"),        count("layers"),
                    count("heads"), net.at("act").string(), 1e-5};
  };
  hf_whisper_config& c = out.config;
  c.ear = tower_of(ear, out.ear);
  c.talk = tower_of(talk, out.talk);
  const auto unless = [&](bool right, const char* what) {
    if (!right) wrong += "\n  " + out.talk + what;
  };
  unless(talk.at("rotary").number() == 0, " has rotary positions, and not learned ones");
  unless(talk.at("bias").boolean() && talk.at("out_bias").boolean() && talk.at("mlp_bias").boolean(),
         " has products without a bias");
  unless(!talk.at("head_norm").boolean(), ".head_norm is set");
  unless(c.talk.width == c.ear.width && talk.at("beside").integer() == c.ear.width,
         " has another width than what it looks at");
  unless(talk.find("looks_every") == nullptr, " looks in some blocks, and not in each");
  unless(talk.find("looks_gated") == nullptr, " looks through gates");
  unless(c.talk.activation == c.ear.activation, ".act is not that of what it looks at");
  const auto frames = static_cast<isize>(ear.at("frames").integer());
  if (frames % 2 != 0) wrong += "\n  " + out.ear + ".frames is odd";
  c.bins = static_cast<isize>(ear.at("bins").integer());
  c.rows = frames / 2;
  c.vocabulary = static_cast<isize>(talk.at("vocabulary").integer());
  c.context = static_cast<isize>(talk.at("context").integer());
  c.tied = talk.find("tied") != nullptr;
  if (!wrong.empty()) fail(hf_not_expressible, wrong + "\n");
  return out;
}

// The text of config.json; read_hf_whisper_config is its inverse. No token is said to mean anything, as a
// model does not know which of its vocabulary do; the package wants to know where texts begin, and is told
// the first token.
inline std::string write_hf_whisper_config(const hf_whisper_config& c, dtype kind = dtype::f32) {
  return write_json(json{{"architectures", json::array{"WhisperForConditionalGeneration"}},
                         {"model_type", "whisper"},
                         {"dtype", hf_name_of(kind)},
                         {"num_mel_bins", c.bins},
                         {"max_source_positions", c.rows},
                         {"max_target_positions", c.context},
                         {"d_model", c.ear.width},
                         {"encoder_layers", c.ear.layers},
                         {"encoder_attention_heads", c.ear.heads},
                         {"encoder_ffn_dim", c.ear.hidden},
                         {"decoder_layers", c.talk.layers},
                         {"decoder_attention_heads", c.talk.heads},
                         {"decoder_ffn_dim", c.talk.hidden},
                         {"activation_function", detail::hf_activation_name(c.ear.activation)},
                         {"vocab_size", c.vocabulary},
                         {"pad_token_id", json{}},
                         {"bos_token_id", json{}},
                         {"eos_token_id", json{}},
                         {"decoder_start_token_id", 0},
                         {"begin_suppress_tokens", json{}},
                         {"tie_word_embeddings", c.tied}},
                    2) +
         "\n";
}

// Writes a folder as from_pretrained of the transformers package reads it. Biases of keys have no name there:
// they change nothing. Positions of sounds, a constant here, are written as they are there.
inline void save_hf_whisper(const std::filesystem::path& folder, const hf_described_whisper& of,
                            std::span<const saved_tensor> from, const tensor_storage& as = {}) {
  const hf_whisper_config& c = of.config;
  std::vector<hf_tensor> map = hf_whisper_whole(c, "model.encoder.", of.ear, of.talk);
  std::vector<saved_tensor> all(from.begin(), from.end());
  std::vector<float> table;
  for (isize t = 0; t < c.rows; ++t)
    for (isize column = 0; column < c.ear.width; ++column)
      table.push_back(static_cast<float>(time_position(t, column, c.ear.width)));
  map.push_back(
      {of.ear + ".embed.position", {{"model.encoder.embed_positions.weight", {c.rows, c.ear.width}}}});
  all.push_back({of.ear + ".embed.position", {c.rows, c.ear.width}, table.data()});
  save_hf_tensors(folder, map, all, write_hf_whisper_config(c, as.kind), "", as);
}

}  // namespace motet
