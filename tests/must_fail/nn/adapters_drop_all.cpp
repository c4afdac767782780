// SPDX-License-Identifier: Apache-2.0
// expect: motet: the dropout of adapters lies in [0, 1); see the words of the_rule_is_broken [MT-N25]
// words: "5000 thousandths"
#include <motet/nn/towers/decoder.hpp>

#ifdef MOTET_BREAK
constexpr float percent = 5;
#else
constexpr float percent = 0.05f;
#endif
constexpr motet::decoder_config config{.vocabulary = 8,
                                       .context = 8,
                                       .width = 8,
                                       .layers = 1,
                                       .heads = 2,
                                       .adapters = {.rank = 2, .dropout = percent}};

static_assert(motet::decoder<config>::drops_by_rows);
