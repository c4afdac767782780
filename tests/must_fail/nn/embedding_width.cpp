// SPDX-License-Identifier: Apache-2.0
// expect: motet: a layer's input width must be the output width of the layer before it; see the words of the_rule_is_broken [MT-N05]
#include <motet/nn/towers/vit.hpp>

constexpr motet::vit_config small{
    .image = 8, .patch = 4, .width = 16, .layers = 1, .heads = 2, .embedding = 8};

#ifdef MOTET_BREAK
constexpr motet::vit_config read{.image = 8, .patch = 4, .width = 24};
#else
constexpr motet::vit_config read{.image = 8, .patch = 4, .width = 16};
#endif

static_assert(motet::tower<motet::patch_embedding<read.patches()>, small.tower()>::embedding == 8);
