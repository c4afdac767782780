// SPDX-License-Identifier: Apache-2.0
// expect: motet: squares of rows must tile the grid of a picture's patches; see the words of the_rule_is_broken [MT-N26]
// words: "squares of 3 do not divide a",.*"grid of 4"
#include <motet/nn/towers/vit_rows.hpp>

#ifdef MOTET_BREAK
constexpr motet::isize by = 3;
#else
constexpr motet::isize by = 2;
#endif
constexpr motet::vit_config sight{.image = 32, .patch = 8, .width = 32, .layers = 1, .heads = 2};

static_assert(motet::vit_rows<sight, true, 1, by>::rows_of_picture > 0);
