// SPDX-License-Identifier: Apache-2.0
// expect: motet: adapters need a rank of one or more, and products that the net has; see the words of the_rule_is_broken [MT-N17]
// words: "the net has no gated mlp"
#include <motet/nn/towers/decoder.hpp>

#ifdef MOTET_BREAK
constexpr bool gated = false;
#else
constexpr bool gated = true;
#endif
constexpr motet::decoder_config config{.vocabulary = 8,
                                       .context = 8,
                                       .width = 8,
                                       .layers = 1,
                                       .heads = 2,
                                       .gated = gated,
                                       .adapters = {.rank = 2, .up = true}};

static_assert(motet::decoder<config>::adapter_size > 0);
