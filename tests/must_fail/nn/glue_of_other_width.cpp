// SPDX-License-Identifier: Apache-2.0
// expect: motet: a layer's input width must be the output width of the layer before it; see the words of the_rule_is_broken [MT-N05]
#include <motet/nn/towers/seeing_decoder.hpp>

constexpr motet::vit_config sight{.image = 8, .patch = 4, .width = 16, .layers = 1, .heads = 2};
constexpr motet::decoder_config words{.vocabulary = 9, .context = 7, .width = 8, .layers = 1, .heads = 2};

#ifdef MOTET_BREAK
using glue = motet::projector<24, 8>;
#else
using glue = motet::projector<16, 8>;
#endif

static_assert(motet::seeing_decoder<motet::picture_rows<sight>, glue, words>::width == 8);
