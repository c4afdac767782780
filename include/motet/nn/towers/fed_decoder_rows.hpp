// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/entering_rows.hpp>
#include <motet/nn/towers/decoder_rows.hpp>

namespace motet {

// A language model that other modules feed and that feeds another: it is in the middle of a chain. Nothing is
// said of its tokens, so their targets and share mean nothing.
// Asks for: what fed_decoder asks for.
// Memory: that of decoder_rows.
// Errors: MT-N01, MT-N03, MT-N04, MT-N06, MT-N17
// Example:
//   constexpr decoder_config words{.vocabulary = 512, .context = 64, .width = 64, .layers = 2, .heads = 4};
//   using tell = fed_decoder_rows<words, 17>;
//   static_assert(tell::takes_rows == 64 && tell::gives_rows && tell::most_rows == 17);
template <decoder_config Config, isize Rows = Config.context, isize Sources = 1>
struct fed_decoder_rows : detail::decoder_that_feeds<Config, placed_embedding<Config.tokens()>> {
  static_assert(require<check(Config)>);
  static_assert(Rows > 0, "motet: sizes of a net must be positive [MT-N04]");
  static constexpr decoder_config config = Config;
  static constexpr bool gives_rows = true;
  static constexpr isize takes_rows = Config.width, most_rows = Rows, sources = Sources;
  template <isize Modules>
  using with_sources = fed_decoder_rows<Config, Rows, Modules>;
};

}  // namespace motet
