// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/decoder_rows.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>

namespace motet {

// A language model that sees and feeds another module: seeing_decoder without its head, whose rows go on. Its
// weights are those of an eye, a glue and a fed_decoder_rows, one behind the other, so it computes in one net
// what these learned as modules.
// Asks for: what seeing_decoder asks for; nothing is said of tokens, so their targets and share mean nothing.
// Memory: that of seeing_decoder, and the rows that go on.
// Errors: MT-N01, MT-N02, MT-N03, MT-N04, MT-N05, MT-N06
// Example:
//   using eye = picture_rows<vit_config{.image = 32, .patch = 8, .width = 32, .layers = 2, .heads = 2}>;
//   constexpr decoder_config words{.vocabulary = 300, .context = 64, .width = 64, .layers = 2, .heads = 4};
//   using tell = seeing_decoder_rows<eye, projector<32, 64>, words>;
//   static_assert(tell::embedding == 64 && tell::gives_rows);
template <class Eye, class Glue, decoder_config Config, isize Pictures = 1>
struct seeing_decoder_rows
    : detail::decoder_that_feeds<Config, pictured_embedding<Eye, Glue, Config.tokens()>> {
  static_assert(require<check(Config)>);
  static_assert(Pictures > 0, "motet: sizes of a net must be positive [MT-N04]");
  static constexpr decoder_config config = Config;
  static constexpr bool gives_rows = true;
  static constexpr isize most_pictures = Pictures;
  using eye = Eye;
};

}  // namespace motet
