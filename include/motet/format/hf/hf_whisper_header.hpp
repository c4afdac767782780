// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_clip_header.hpp>
#include <motet/format/hf/hf_whisper.hpp>

namespace motet {

// Whisper's encoder as a C++ header: its configuration and module type in a namespace. What it holds depends
// on config.json alone.
inline std::string hf_whisper_header(const hf_whisper_config& config, std::string_view name) {
  const hf_tower& t = config.ear;
  std::string out =
      "// Whisper's encoder in C++, made from its Hugging Face configuration by import_hf.\n#pragma once\n\n"
      "#include <motet/motet.hpp>\n#include <motet/nn/towers/sound_rows.hpp>\n\nnamespace ";
  out += std::string(name) + " {\n\ninline constexpr motet::sound_config ear_config{\n";
  out += sentence({"    .bins = ", config.bins, ",\n    .frames = ", config.frames(),
                   ",\n    .width = ", t.width, ",\n    .layers = ", t.layers, ",\n    .heads = ", t.heads,
                   ",\n    .hidden = ", t.hidden, ",\n    .act = motet::activation::", t.activation,
                   ",\n    .epsilon = ", detail::float_literal(t.epsilon), ",\n};\n\n"});
  out += "using ear = motet::module<\"ear\", motet::sound_rows<ear_config>>;\n";
  out +=
      "// An encoder alone has no loss: it is a module for models of your own.\nusing model = ear;\n\n}  "
      "// namespace " +
      std::string(name) + "\n";
  return out;
}

}  // namespace motet
