// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/entering_rows.hpp>
#include <motet/nn/towers/decoder.hpp>

namespace motet {

// A language model that other modules feed: rows of theirs have places among its tokens. Weights are those of
// decoder. How many modules feed it, a model with edges finds by itself.
// Asks for: samples of at most `context` rows with those that enter, which are at most `Rows` of a sample,
// and a target for each row where something is asked.
// Memory: that of decoder.
// Errors: MT-N01, MT-N03, MT-N04, MT-N06, MT-N16, MT-N17, MT-N25, MT-N27
// Example:
//   using talk = fed_decoder<decoder_config{.vocabulary = 512, .context = 64, .width = 64, .layers = 2, .heads = 4}>;
//   static_assert(talk::takes_rows == 64 && talk::most_rows == 64);
template <decoder_config Config, isize Rows = Config.context, isize Sources = 1>
struct fed_decoder : tower<placed_embedding<Config.tokens()>, Config.tower(), detail::decoder_tail<Config>> {
  static_assert(require<check(Config)>);
  static_assert(Rows > 0, "motet: sizes of a net must be positive [MT-N04]");
  static constexpr decoder_config config = Config;
  static constexpr bool own_loss = true;
  static constexpr isize takes_rows = Config.width, most_rows = Rows, sources = Sources;
  template <isize Modules>
  using with_sources = fed_decoder<Config, Rows, Modules>;

  // This is the net with its weights, but its features are the logits of all rows: (rows, vocabulary).
  using logits = tower<placed_embedding<Config.tokens()>, Config.tower(),
                       logits_tail<detail::decoder_norm<Config>, Config.vocabulary, Config.tied>>;
};

}  // namespace motet
