// SPDX-License-Identifier: Apache-2.0
// expect: motet: interpolated positions are learned, for a grid of whole patches; see the words of the_rule_is_broken [MT-N29]
#include <motet/nn/towers/vit.hpp>

#ifdef MOTET_BREAK
constexpr motet::isize learned = 20;
#else
constexpr motet::isize learned = 16;
#endif
constexpr motet::vit_config sight{
    .image = 32, .patch = 8, .width = 32, .layers = 1, .heads = 2, .learned_image = learned};

static_assert(motet::vit<sight>::parameter_size > 0);
