// SPDX-License-Identifier: Apache-2.0
// expect: motet: pictures of any shape have some patches each, four channels at most, no squares; see the words of the_rule_is_broken [MT-N32]
#include <motet/nn/towers/vit_rows.hpp>

#ifdef MOTET_BREAK
constexpr motet::isize by = 2;
#else
constexpr motet::isize by = 1;
#endif
constexpr motet::vit_config sight{
    .image = 32, .patch = 8, .width = 32, .layers = 1, .heads = 2, .most_patches = 24};

static_assert(motet::vit_rows<sight, true, 1, by>::rows_of_picture > 0);
