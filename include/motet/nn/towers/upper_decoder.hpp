// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/entering_rows.hpp>
#include <motet/nn/towers/decoder.hpp>
#include <motet/nn/towers/last_logits.hpp>

namespace motet {

// The upper half of a language model whose lower half is a module of its own (decoder_rows): all rows are
// those of modules that feed it, the words' among them, and it has no table of tokens. So another module may
// pool what the lower half makes of words, and the upper half alone is shown a picture, whose rows stand
// before those of the words. Weights are those of decoder without its embedding.
// Asks for: rotary positions; samples of at most `context` rows, at most `Rows` of a sample; no tokens, a
// place for each row, and a target where something is asked.
// Memory: that of decoder.
// Errors: MT-N01, MT-N03, MT-N04, MT-N06, MT-N16, MT-N17, MT-N21, MT-N25
// Example:
//   using say = upper_decoder<decoder_config{.vocabulary = 512, .context = 64, .width = 64, .layers = 2, .heads = 4}>;
//   static_assert(say::takes_rows == 64 && say::most_rows == 64 && say::own_loss);
template <decoder_config Config, isize Rows = Config.context, isize Sources = 1>
struct upper_decoder : tower<placed_rows<Config.width>, Config.tower(), detail::decoder_tail<Config>> {
  static_assert(require<check(Config)>);
  static_assert(require < Config.rotary == 0 ? verdict{reason::upper_half_places} : verdict{} >);
  static_assert(Rows > 0, "motet: sizes of a net must be positive [MT-N04]");
  static constexpr decoder_config config = Config;
  static constexpr bool own_loss = true, reads_tokens = false;
  static constexpr isize takes_rows = Config.width, most_rows = Rows, sources = Sources;
  template <isize Modules>
  using with_sources = upper_decoder<Config, Rows, Modules>;

  // This is the net with its weights, but its features are the logits of the last row of each sample.
  using last_logits = tower<placed_rows<Config.width>, Config.tower(),
                            last_logits_tail<detail::decoder_norm<Config>, Config.vocabulary>>;
};

}  // namespace motet
