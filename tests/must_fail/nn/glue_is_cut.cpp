// SPDX-License-Identifier: Apache-2.0
// expect: motet: tensor parallelism cuts the words of a pictured embedding, not its eye and glue
#include <motet/nn/layers/mlp.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>

constexpr motet::vit_config sight{.image = 8, .patch = 4, .width = 8, .layers = 1, .heads = 2};
constexpr motet::decoder_config words{.vocabulary = 9, .context = 7, .width = 8, .layers = 1, .heads = 2};

#ifdef MOTET_BREAK
using glue = motet::mlp<8, 32>;
#else
using glue = motet::linear<8, 8>;
#endif

static_assert(motet::seeing_decoder<motet::picture_rows<sight>, glue, words>::width == 8);
