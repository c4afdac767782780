// SPDX-License-Identifier: Apache-2.0
// expect: motet: rotary embedding needs an even head width; see the words of the_rule_is_broken [MT-N06]
#include <motet/nn/towers/text.hpp>

#ifdef MOTET_BREAK
constexpr motet::text_config config{.width = 30, .heads = 10, .rotary = 10000};
#else
constexpr motet::text_config config{.width = 30, .heads = 5, .rotary = 10000};
#endif

static_assert(motet::text_tower<config>::parameter_size > 0);
