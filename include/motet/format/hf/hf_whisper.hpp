// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_clip.hpp>
#include <motet/format/hf/hf_clip_tensors.hpp>

namespace motet {

// What config.json of a Hugging Face Whisper model says of its encoder and its decoder, with the defaults of
// the transformers package for absent fields.
struct hf_whisper_config {
  hf_tower ear, talk;  // of one width
  isize bins = 80, rows = 1500;
  isize vocabulary = 51865, context = 448;
  bool tied = true;  // the decoder's table is its last product, too

  isize frames() const { return 2 * rows; }
};

// Reads the text of config.json. A field that asks for what no net here computes is MT-F13 and named. `where`
// stands in the message.
inline hf_whisper_config read_hf_whisper_config(std::string_view text, const std::string& where) {
  const json whole = read_json(text, where);
  const hf_fields top(&whole, where);
  if (const std::string type = top.text("model_type", ""); type != "whisper")
    top.refuse("model_type", "is \"" + type + "\", wanted whisper");
  hf_whisper_config config;
  config.bins = top.size("num_mel_bins", 80);
  config.rows = top.size("max_source_positions", 1500);
  config.ear.width = top.size("d_model", 384);
  config.ear.hidden = top.size("encoder_ffn_dim", 1536);
  config.ear.layers = top.size("encoder_layers", 4);
  config.ear.heads = top.size("encoder_attention_heads", 6);
  config.ear.activation = detail::hf_activation(top, "activation_function", "gelu");
  config.talk = config.ear;
  config.talk.hidden = top.size("decoder_ffn_dim", 1536);
  config.talk.layers = top.size("decoder_layers", 4);
  config.talk.heads = top.size("decoder_attention_heads", 6);
  config.vocabulary = top.size("vocab_size", 51865);
  config.context = top.size("max_target_positions", 448);
  config.tied = top.flag("tie_word_embeddings", true);
  const auto divides = [&](const char* field, isize heads) {
    if (config.ear.width % heads != 0)
      top.refuse(field, sentence({"is ", heads, ", which does not divide d_model ", config.ear.width}));
  };
  divides("encoder_attention_heads", config.ear.heads);
  if (config.ear.width < 4 || config.ear.width % 2 != 0)
    top.refuse("d_model", sentence({"is ", config.ear.width,
                                    ", and sine positions in time need an even width of 4 or more"}));
  divides("decoder_attention_heads", config.talk.heads);
  return config;
}
inline hf_whisper_config read_hf_whisper_config(const std::filesystem::path& folder) {
  const mapped_file file(folder / "config.json");
  return read_hf_whisper_config(file.text(), (folder / "config.json").string());
}

// Models with a head name the encoder with `model` before it.
inline std::string hf_whisper_encoder(const tensor_set& from) {
  return from.find("model.encoder.conv1.weight") != nullptr ? "model.encoder." : "encoder.";
}

namespace detail {

// Keys have no bias there; here they have one, which the softmax takes out again, so zeros stand for it
// (0062).
inline void add_hf_whisper_attention(std::vector<hf_tensor>& out, const std::string& ours,
                                     const std::string& theirs, isize width) {
  const std::vector<isize> square{width, width}, row{width};
  out.push_back({ours + ".qkv.weight",
                 {{theirs + "q_proj.weight", square},
                  {theirs + "k_proj.weight", square},
                  {theirs + "v_proj.weight", square}}});
  out.push_back(
      {ours + ".qkv.bias", {{theirs + "q_proj.bias", row}, {"", row}, {theirs + "v_proj.bias", row}}});
  add_hf_pair(out, ours + ".out", theirs + "out_proj", square);
}
inline void add_hf_whisper_mlp(std::vector<hf_tensor>& out, const std::string& ours, const std::string& layer,
                               const hf_tower& t) {
  add_hf_pair(out, ours + ".norm", layer + ".final_layer_norm", {t.width});
  add_hf_pair(out, ours + ".up", layer + ".fc1", {t.hidden, t.width});
  add_hf_pair(out, ours + ".down", layer + ".fc2", {t.width, t.hidden});
}

}  // namespace detail

// All tensors of the encoder that are computed with, by the names that a module `ear` has.
inline std::vector<hf_tensor> hf_whisper_tensors(const hf_whisper_config& config,
                                                 const std::string& ear = "ear",
                                                 const std::string& theirs = "encoder.") {
  std::vector<hf_tensor> out;
  const hf_tower& t = config.ear;
  const auto convolution = [&](const char* ours, const char* of, isize in) {
    out.push_back({ear + ".embed." + ours + ".weight", {{theirs + of + ".weight", {t.width, in, 3}}}});
    out.push_back({ear + ".embed." + ours + ".bias", {{theirs + of + ".bias", {t.width}}}});
  };
  convolution("first", "conv1", config.bins);
  convolution("second", "conv2", t.width);
  for (isize i = 0; i < t.layers; ++i) {
    const std::string block = sentence({ear, ".blocks.", i}), layer = sentence({theirs, "layers.", i});
    detail::add_hf_pair(out, block + ".attention.norm", layer + ".self_attn_layer_norm", {t.width});
    detail::add_hf_whisper_attention(out, block + ".attention", layer + ".self_attn.", t.width);
    detail::add_hf_whisper_mlp(out, block + ".mlp", layer, t);
  }
  detail::add_hf_pair(out, ear + ".norm", theirs + "layer_norm", {t.width});
  return out;
}
// The decoder's, by the names that a module `talk` has.
inline std::vector<hf_tensor> hf_whisper_talk_tensors(const hf_whisper_config& config,
                                                      const std::string& talk = "talk",
                                                      const std::string& theirs = "model.decoder.") {
  std::vector<hf_tensor> out;
  const hf_tower& t = config.talk;
  const std::vector<isize> square{t.width, t.width}, row{t.width};
  out.push_back({talk + ".embed.token", {{theirs + "embed_tokens.weight", {config.vocabulary, t.width}}}});
  out.push_back({talk + ".embed.position", {{theirs + "embed_positions.weight", {config.context, t.width}}}});
  for (isize i = 0; i < t.layers; ++i) {
    const std::string block = sentence({talk, ".blocks.", i}), layer = sentence({theirs, "layers.", i}),
                      cross = layer + ".encoder_attn.";
    detail::add_hf_pair(out, block + ".attention.norm", layer + ".self_attn_layer_norm", {t.width});
    detail::add_hf_whisper_attention(out, block + ".attention", layer + ".self_attn.", t.width);
    detail::add_hf_pair(out, block + ".cross.norm", layer + ".encoder_attn_layer_norm", {t.width});
    detail::add_hf_pair(out, block + ".cross.query", cross + "q_proj", square);
    out.push_back({block + ".cross.beside.weight",
                   {{cross + "k_proj.weight", square}, {cross + "v_proj.weight", square}}});
    out.push_back({block + ".cross.beside.bias", {{"", row}, {cross + "v_proj.bias", row}}});
    detail::add_hf_pair(out, block + ".cross.out", cross + "out_proj", square);
    detail::add_hf_whisper_mlp(out, block + ".mlp", layer, t);
  }
  detail::add_hf_pair(out, talk + ".norm", theirs + "layer_norm", {t.width});
  if (!config.tied)
    out.push_back({talk + ".head.weight", {{"proj_out.weight", {config.vocabulary, t.width}}}});
  return out;
}
// Both: a language model that hears, of modules `ear` and `talk`.
inline std::vector<hf_tensor> hf_whisper_whole(const hf_whisper_config& config,
                                               const std::string& theirs = "model.encoder.",
                                               const std::string& ear = "ear",
                                               const std::string& talk = "talk") {
  std::vector<hf_tensor> out = hf_whisper_tensors(config, ear, theirs);
  const std::string before = theirs == "encoder." ? "" : "model.";
  for (hf_tensor& each : hf_whisper_talk_tensors(config, talk, before + "decoder."))
    out.push_back(std::move(each));
  return out;
}

// What such files hold besides the encoder: a decoder, a head, and positions, which are not read but
// computed.
inline std::vector<std::string> hf_whisper_unread(const std::string& theirs) {
  const std::string before = theirs == "encoder." ? "" : "model.";
  return {theirs + "embed_positions.",
          before + "decoder.",
          "proj_out.",
          "projector.",
          "classifier.",
          "layer_weights"};
}

// What they hold besides encoder and decoder. A head that is tied is the decoder's table.
inline std::vector<std::string> hf_whisper_unread_whole(const hf_whisper_config& config,
                                                        const std::string& theirs) {
  std::vector<std::string> out{theirs + "embed_positions."};
  if (config.tied) out.push_back("proj_out.");
  return out;
}

// What a row of a sound's positions has in a column: half of them sines, half cosines.
inline double time_position(isize row, isize column, isize width) {
  const isize half = width / 2;
  const double angle = static_cast<double>(row) *
                       std::pow(10000.0, -static_cast<double>(column % half) / static_cast<double>(half - 1));
  return column < half ? std::sin(angle) : std::cos(angle);
}

// Positions are a constant here. A file whose own differ, as somebody trained them, is MT-F13; stored halves
// may be off by their rounding.
inline void check_hf_positions(const tensor_set& from, const hf_whisper_config& config,
                               const std::string& theirs) {
  const std::string name = theirs + "embed_positions.weight";
  const stored_tensor* const stored = from.find(name);
  if (stored == nullptr) return;
  const isize width = config.ear.width;
  const auto refuse = [&](const std::string& why) {
    fail(hf_config_unsupported, from.path() + ": " + name + " " + why);
  };
  if (const std::vector<isize> wanted{config.rows, width}; stored->shape != wanted)
    refuse("is " + shape_text(stored->shape) + ", wanted " + shape_text(wanted));
  std::vector<float> table(static_cast<std::size_t>(config.rows * width));
  copy_elements(*stored, table.data());
  for (isize t = 0; t < config.rows; ++t)
    for (isize c = 0; c < width; ++c) {
      const double wanted = time_position(t, c, width);
      const auto got = static_cast<double>(table[static_cast<std::size_t>(t * width + c)]);
      if (!(std::abs(got - wanted) <= 5e-3))
        refuse(sentence({"is not the sines and cosines that Whisper begins with: row ", t, ", column ", c,
                         " is ", std::to_string(got), ", wanted ", std::to_string(wanted)}));
    }
}

}  // namespace motet
