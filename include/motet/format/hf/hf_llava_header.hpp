// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_decoder_header.hpp>
#include <motet/format/hf/hf_llava.hpp>

namespace motet {

// A language model that sees as a C++ header: its configurations and module type in a namespace. What it
// holds depends on config.json alone, and on `side`, which pictures have here: 0 is that of the file.
inline std::string hf_llava_header(const hf_llava_config& config, std::string_view name, isize side = 0) {
  const hf_tower& t = config.eye;
  const char* const bias = config.bias ? "true" : "false";
  std::string out =
      "// A language model that sees in C++, made from its Hugging Face configuration by import_hf.\n#pragma "
      "once\n\n#include <motet/motet.hpp>\n\nnamespace ";
  out += std::string(name) + " {\n\ninline constexpr motet::vit_config eye_config{\n";
  out += detail::hf_image_fields(config, side);
  out += sentence({"    .channels = ", config.channels, ",\n    .width = ", t.width,
                   ",\n    .layers = ", config.seen, ",\n    .heads = ", t.heads,
                   ",\n    .hidden = ", t.hidden, ",\n    .act = motet::activation::", t.activation,
                   ",\n    .epsilon = ", detail::float_literal(t.epsilon), ",\n"});
  out += config.siglip ? "    .pool = motet::pool_kind::mean,\n" : "    .pool = motet::pool_kind::first,\n";
  out += detail::hf_learned_field(config, side);
  out += config.siglip ? "    .patch_bias = true,\n};\n" : "    .pre_norm = true,\n};\n";
  out +=
      "inline constexpr motet::decoder_config words_config{\n" + hf_decoder_fields(config.words) + "};\n\n";
  out += "using eye = motet::picture_rows<eye_config, false>;\n";
  out += sentence({"using glue = motet::sequential<motet::named<\"up\", motet::linear<", t.width, ", ",
                   config.words.width, ", ", bias, ", motet::activation::", config.act,
                   ">>, motet::named<\"down\", motet::linear<", config.words.width, ", ", config.words.width,
                   ", ", bias, ">>>;\n"});
  // A sample may have as many pictures as fit and leave a row for words.
  const isize across = (side > 0 ? side : config.image) / config.patch,
              shown = across * across + (config.siglip ? 0 : 1) - config.lead;
  out += sentence({"using talk = motet::module<\"talk\", motet::seeing_decoder<eye, glue, words_config, ",
                   std::max<isize>(1, std::min<isize>(4, config.words.context / std::max<isize>(1, shown))),
                   ">>;\n"});
  out += "using model = motet::model<motet::join<motet::next_token, talk>>;\n\n}  // namespace " +
         std::string(name) + "\n";
  return out;
}

}  // namespace motet
