// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_clip.hpp>
#include <motet/format/hf/hf_clip_tensors.hpp>

namespace motet {

// What config.json of a Hugging Face Whisper model says of its encoder, with the defaults of the transformers
// package for absent fields.
struct hf_whisper_config {
  hf_tower ear;
  isize bins = 80, rows = 1500;

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
  if (config.ear.width % config.ear.heads != 0)
    top.refuse("encoder_attention_heads",
               sentence({"is ", config.ear.heads, ", which does not divide d_model ", config.ear.width}));
  if (config.ear.width < 4 || config.ear.width % 2 != 0)
    top.refuse("d_model", sentence({"is ", config.ear.width,
                                    ", and sine positions in time need an even width of 4 or more"}));
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

// All tensors of the encoder that are computed with, by the names that a module `ear` has. Keys have no bias
// there; here they have one, which the softmax takes out again, so zeros stand for it (0062).
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
    const std::string block = sentence({ear, ".blocks.", i}), layer = sentence({theirs, "layers.", i}),
                      attention = layer + ".self_attn.";
    detail::add_hf_pair(out, block + ".attention.norm", layer + ".self_attn_layer_norm", {t.width});
    const std::vector<isize> square{t.width, t.width}, row{t.width};
    out.push_back({block + ".attention.qkv.weight",
                   {{attention + "q_proj.weight", square},
                    {attention + "k_proj.weight", square},
                    {attention + "v_proj.weight", square}}});
    out.push_back({block + ".attention.qkv.bias",
                   {{attention + "q_proj.bias", row}, {"", row}, {attention + "v_proj.bias", row}}});
    detail::add_hf_pair(out, block + ".attention.out", attention + "out_proj", square);
    detail::add_hf_pair(out, block + ".mlp.norm", layer + ".final_layer_norm", {t.width});
    detail::add_hf_pair(out, block + ".mlp.up", layer + ".fc1", {t.hidden, t.width});
    detail::add_hf_pair(out, block + ".mlp.down", layer + ".fc2", {t.width, t.hidden});
  }
  detail::add_hf_pair(out, ear + ".norm", theirs + "layer_norm", {t.width});
  return out;
}

// What such files hold besides: a decoder, a head, and positions, which are not read but computed.
inline std::vector<std::string> hf_whisper_unread(const std::string& theirs) {
  const std::string before = theirs == "encoder." ? "" : "model.";
  return {theirs + "embed_positions.",
          before + "decoder.",
          "proj_out.",
          "projector.",
          "classifier.",
          "layer_weights"};
}

// Positions are a constant here. A file whose own differ, as somebody trained them, is MT-F13; stored halves
// may be off by their rounding.
inline void check_hf_positions(const tensor_set& from, const hf_whisper_config& config,
                               const std::string& theirs) {
  const std::string name = theirs + "embed_positions.weight";
  const stored_tensor* const stored = from.find(name);
  if (stored == nullptr) return;
  const isize width = config.ear.width, half = width / 2;
  const auto refuse = [&](const std::string& why) {
    fail(hf_config_unsupported, from.path() + ": " + name + " " + why);
  };
  if (const std::vector<isize> wanted{config.rows, width}; stored->shape != wanted)
    refuse("is " + shape_text(stored->shape) + ", wanted " + shape_text(wanted));
  std::vector<float> table(static_cast<std::size_t>(config.rows * width));
  copy_elements(*stored, table.data());
  for (isize t = 0; t < config.rows; ++t)
    for (isize c = 0; c < width; ++c) {
      const double angle = static_cast<double>(t) *
                           std::pow(10000.0, -static_cast<double>(c % half) / static_cast<double>(half - 1)),
                   wanted = c < half ? std::sin(angle) : std::cos(angle);
      const auto got = static_cast<double>(table[static_cast<std::size_t>(t * width + c)]);
      if (!(std::abs(got - wanted) <= 5e-3))
        refuse(sentence({"is not the sines and cosines that Whisper begins with: row ", t, ", column ", c,
                         " is ", std::to_string(got), ", wanted ", std::to_string(wanted)}));
    }
}

}  // namespace motet
