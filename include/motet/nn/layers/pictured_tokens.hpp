// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/patch_embedding.hpp>
#include <motet/nn/layers/several.hpp>
#include <motet/nn/layers/sound_embedding.hpp>
#include <motet/nn/layers/token_embedding.hpp>

namespace motet {

using seen_pictures = several<pictures>;

// Text with pictures and sounds in it: samples of tokens, some of whose rows have a negative id and belong to
// one of them. A sample has none, one or many of each, in their order.
struct pictured_tokens : labelled_tokens {
  pictures seen{};                         // those of all samples, one after the other
  const isize* picture_offsets = nullptr;  // samples + 1 entries, which pictures are whose
  // The row of the text that each row of each picture takes, ascending; negative for a row that nobody reads,
  // such as that of a class token.
  const std::int32_t* places = nullptr;
  // Samples that may have sounds say here which they have, and where the rows of these are.
  heard_sounds heard{};
  const std::int32_t* heard_places = nullptr;
};

}  // namespace motet
