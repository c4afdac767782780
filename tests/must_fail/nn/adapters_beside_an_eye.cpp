// SPDX-License-Identifier: Apache-2.0
// expect: motet: adapters need a rank of one or more, and products that the net has; see the words of the_rule_is_broken [MT-N17]
// words: "the net sees"
#include <motet/nn/towers/seeing_decoder.hpp>

#ifdef MOTET_BREAK
constexpr motet::isize rank = 2;
#else
constexpr motet::isize rank = 0;
#endif
constexpr motet::vit_config sight{.image = 8, .patch = 4, .width = 8, .layers = 1, .heads = 2};
constexpr motet::decoder_config words{
    .vocabulary = 8, .context = 8, .width = 8, .layers = 1, .heads = 2, .adapters = {.rank = rank}};

static_assert(motet::seeing_decoder<motet::picture_rows<sight>, motet::linear<8, 8>, words>::width == 8);
