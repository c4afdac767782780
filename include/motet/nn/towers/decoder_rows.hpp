// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/decoder.hpp>
#include <motet/nn/towers/rows_tail.hpp>

namespace motet {

namespace detail {

template <decoder_config Config, class Embed>
using decoder_that_feeds = tower<Embed, Config.tower(), rows_tail<decoder_norm<Config>>>;

}  // namespace detail

// A language model as a module that feeds another: its rows go on, behind the last norm, and nothing is said
// of tokens. Weights are those of decoder without its head.
// Asks for: samples of at most `context` tokens.
// Memory: that of its blocks, and the rows that go on.
// Errors: MT-N01, MT-N03, MT-N04, MT-N06, MT-N17
// Example:
//   using words = decoder_rows<decoder_config{.vocabulary = 512, .context = 64, .width = 64, .layers = 2, .heads = 4}>;
//   static_assert(words::embedding == 64 && words::gives_rows);
template <decoder_config Config>
struct decoder_rows : detail::decoder_that_feeds<Config, token_embedding<Config.tokens()>> {
  static_assert(require<check(Config)>);
  static constexpr decoder_config config = Config;
  static constexpr bool gives_rows = true;
};

}  // namespace motet
