// SPDX-License-Identifier: Apache-2.0
// expect: motet: sizes of a net must be positive; see the words of the_rule_is_broken [MT-N04]
// words: "the least of them is 0, wanted 1"
#include <motet/nn/towers/vit.hpp>

#ifdef MOTET_BREAK
constexpr motet::vit_config config{.layers = 0};
#else
constexpr motet::vit_config config{.layers = 1};
#endif

static_assert(motet::vit<config>::parameter_size > 0);
