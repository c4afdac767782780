// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/hf/hf_clip.hpp>

#include <charconv>
#include <string>
#include <string_view>

namespace motet {

namespace detail {

inline std::string float_literal(double value) {
  char buffer[32];
  const auto [end, failed] = std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value));
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}
// An eye's pictures, in whole patches, of the file's side or of another one, and what its positions are of
// then.
template <class Config>
isize hf_shown_side(const Config& config, isize side) {
  return side > 0 ? side / config.patch * config.patch : config.covered();
}
template <class Config>
std::string hf_image_fields(const Config& config, isize side) {
  const isize shown = hf_shown_side(config, side), whole = side > 0 ? side : config.image;
  return (shown != whole
              ? sentence({"    // Pictures have ", whole, " pixels a side; whole patches cover these.\n"})
              : std::string()) +
         sentence({"    .image = ", shown, ",\n    .patch = ", config.patch, ",\n"});
}
template <class Config>
std::string hf_learned_field(const Config& config, isize side) {
  if (hf_shown_side(config, side) == config.covered()) return "";
  return sentence({"    .learned_image = ", config.covered(), ",\n"});
}

}  // namespace detail

// A namespace can be called so where this holds.
constexpr bool is_identifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9') || name[0] == '_' ||
      name.find("__") != std::string_view::npos || name == "motet" || name == "std")
    return false;
  for (const char c : name) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'))
      return false;
  }
  return true;
}

// The model as a C++ header: the configurations and module types in a namespace. What it holds depends on
// config.json alone, and on `side`, which pictures have here: 0 is that of the file.
inline std::string hf_clip_header(const hf_clip_config& config, std::string_view name, isize side = 0) {
  const auto tower = [](const hf_tower& t, isize projection) {
    return sentence({"    .width = ", t.width, ",\n    .layers = ", t.layers, ",\n    .heads = ", t.heads,
                     ",\n    .hidden = ", t.hidden, ",\n    .embedding = ", projection,
                     ",\n    .act = motet::activation::", t.activation,
                     ",\n    .epsilon = ", detail::float_literal(t.epsilon), ",\n"});
  };
  std::string out =
      "// A CLIP model in C++, made from its Hugging Face configuration by import_hf.\n#pragma "
      "once\n\n#include <motet/motet.hpp>\n\nnamespace ";
  out += std::string(name) + " {\n\ninline constexpr motet::vit_config picture_config{\n";
  out += detail::hf_image_fields(config, side);
  out += sentence({"    .channels = ", config.channels, ",\n"});
  out += tower(config.vision, config.projection) + detail::hf_learned_field(config, side) +
         "    .pre_norm = true,\n};\n";
  out +=
      sentence({"inline constexpr motet::text_config caption_config{\n    .vocabulary = ", config.vocabulary,
                ",\n    .context = ", config.context, ",\n"});
  out += tower(config.text, config.projection) + "};\n\n";
  out +=
      "using picture = motet::module<\"picture\", motet::vit<picture_config>>;\nusing caption = "
      "motet::module<\"caption\", "
      "motet::text_tower<caption_config>>;\n";
  out += "using model = motet::model<motet::join<motet::info_nce, picture, caption>>;\n\n}  // namespace " +
         std::string(name) + "\n";
  return out;
}

}  // namespace motet
