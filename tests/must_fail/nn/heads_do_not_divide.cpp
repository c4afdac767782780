// SPDX-License-Identifier: Apache-2.0
// expect: motet: the head count must divide the width, unless head_width is given; see the words of the_rule_is_broken [MT-N01]
// words: "25 heads do not divide a width",.*"of 1024"
#include <motet/nn/towers/vit.hpp>

#ifdef MOTET_BREAK
constexpr motet::vit_config config{.width = 1024, .heads = 25};
#else
constexpr motet::vit_config config{.width = 1000, .heads = 25};
#endif

static_assert(motet::vit<config>::parameter_size > 0);
