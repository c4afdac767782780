// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_clip_header.hpp>
#include <motet/format/hf/hf_whisper.hpp>

namespace motet {

// Whisper as a C++ header: its configurations, module types and model in a namespace. What it holds depends
// on config.json alone.
inline std::string hf_whisper_header(const hf_whisper_config& config, std::string_view name) {
  const hf_tower &t = config.ear, &d = config.talk;
  std::string out =
      "// Whisper in C++, made from its Hugging Face configuration by import_hf.\n#pragma once\n\n"
      "#include <motet/motet.hpp>\n#include <motet/nn/towers/cross_decoder.hpp>\n#include "
      "<motet/nn/towers/sound_rows.hpp>\n\nnamespace ";
  out += std::string(name) + " {\n\ninline constexpr motet::sound_config ear_config{\n";
  out += sentence({"    .bins = ", config.bins, ",\n    .frames = ", config.frames(),
                   ",\n    .width = ", t.width, ",\n    .layers = ", t.layers, ",\n    .heads = ", t.heads,
                   ",\n    .hidden = ", t.hidden, ",\n    .act = motet::activation::", t.activation,
                   ",\n    .epsilon = ", detail::float_literal(t.epsilon), ",\n};\n"});
  out += "inline constexpr motet::decoder_config words_config{\n";
  out += sentence({"    .vocabulary = ", config.vocabulary, ",\n    .context = ", config.context,
                   ",\n    .width = ", d.width, ",\n    .layers = ", d.layers, ",\n    .heads = ", d.heads,
                   ",\n    .hidden = ", d.hidden, ",\n    .act = motet::activation::", d.activation,
                   ",\n    .gated = false,\n    .norm = motet::norm_kind::layer,\n    .epsilon = ",
                   detail::float_literal(d.epsilon),
                   ",\n    .rotary = 0,\n    .bias = true,\n    .mlp_bias = true,\n    .tied = ",
                   config.tied ? "true" : "false", ",\n};\n\n"});
  out += "using ear = motet::module<\"ear\", motet::sound_rows<ear_config>>;\n";
  out += sentence({"using talk = motet::module<\"talk\", motet::cross_decoder<words_config, ", t.width, ", ",
                   config.rows, ">>;\n"});
  out +=
      "using model = motet::model<motet::modules<ear, talk>, motet::edge<\"ear\", \"talk\">,\n"
      "                           motet::loss<motet::next_token, \"talk\">>;\n\n}  // namespace " +
      std::string(name) + "\n";
  return out;
}

}  // namespace motet
