// SPDX-License-Identifier: Apache-2.0
// expect: motet: sizes of a net must be positive; see the words of the_rule_is_broken [MT-N04]
#include <motet/nn/towers/text.hpp>

#ifdef MOTET_BREAK
constexpr motet::text_config config{.context = 0};
#else
constexpr motet::text_config config{.context = 77};
#endif

static_assert(motet::text_tower<config>::parameter_size > 0);
