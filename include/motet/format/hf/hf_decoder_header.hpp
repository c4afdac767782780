// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_clip_header.hpp>
#include <motet/format/hf/hf_decoder.hpp>

namespace motet {

// The fields of a decoder_config, a line each.
inline std::string hf_decoder_fields(const hf_decoder_config& config) {
  const auto truth = [](bool value) { return std::string(value ? "true" : "false"); };
  std::string out;
  out += sentence({"    .vocabulary = ", config.vocabulary, ",\n    .context = ", config.context,
                   ",\n    .width = ", config.width, ",\n    .layers = ", config.layers,
                   ",\n    .heads = ", config.heads, ",\n    .kv_heads = ", config.kv_heads,
                   ",\n    .head_width = ", config.head_width, ",\n    .hidden = ", config.hidden, ",\n"});
  out += "    .epsilon = " + detail::float_literal(config.epsilon) + ",\n";
  out += "    .rotary = " + detail::float_literal(config.rotary) + ",\n";
  if (config.factor != 1)
    out += "    .scaling = {" + detail::float_literal(config.factor) + ", " +
           detail::float_literal(config.slow) + ", " + detail::float_literal(config.fast) + ", " +
           std::to_string(config.trained) + "},\n";
  out += "    .bias = " + truth(config.bias) + ",\n    .out_bias = " + truth(config.out_bias) +
         ",\n    .mlp_bias = " + truth(config.mlp_bias) + ",\n    .head_norm = " + truth(config.head_norm) +
         ",\n";
  if (config.tied) out += "    .tied = true,\n";
  return out;
}

// A language model as a C++ header: its configuration and module type in a namespace. What it holds depends
// on config.json alone.
inline std::string hf_decoder_header(const hf_decoder_config& config, std::string_view name) {
  std::string out =
      "// A language model in C++, made from its Hugging Face configuration by import_hf.\n#pragma "
      "once\n\n#include <motet/motet.hpp>\n\nnamespace ";
  out += std::string(name) + " {\n\ninline constexpr motet::decoder_config text_config{\n" +
         hf_decoder_fields(config) + "};\n\n";
  out += "using text = motet::module<\"text\", motet::decoder<text_config>>;\n";
  out += "using model = motet::model<motet::join<motet::next_token, text>>;\n\n}  // namespace " +
         std::string(name) + "\n";
  return out;
}

}  // namespace motet
