// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include <string>
#include <utility>

namespace motet {

// What an eye sees, in words.
inline std::string sight_of(const vit_config& of) {
  if (of.most_patches > 0)
    return sentence({"any shape of at most ", of.most_patches, " patches of ", of.patch, " x ", of.patch});
  return sentence({of.image, " x ", of.image, " in patches of ", of.patch});
}
// Towers in words, as --explain lists them.
inline std::pair<std::string, std::string> outline_of(const vit_config& of) {
  return {"picture", sentence({of.image, " x ", of.image, " pixels, patch ", of.patch, ", width ", of.width,
                               ", ", of.layers, " layers, ", of.heads, " heads"})};
}
inline std::pair<std::string, std::string> outline_of(const text_config& of) {
  return {"caption", sentence({"vocabulary ", of.vocabulary, ", context ", of.context, ", width ", of.width,
                               ", ", of.layers, " layers, ", of.heads, " heads"})};
}
// And as the page of a run does.
inline std::string words_of(const vit_config& of) {
  return sentence(
      {of.layers, " layers of width ", of.width, ", ", of.heads, " heads, pictures of ", sight_of(of)});
}
inline std::string words_of(const text_config& of) {
  return sentence({of.layers, " layers of width ", of.width, ", ", of.heads, " heads, at most ", of.context,
                   " of ", of.vocabulary, " tokens"});
}

}  // namespace motet
