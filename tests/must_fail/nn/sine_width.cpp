// SPDX-License-Identifier: Apache-2.0
// expect: motet: 2-D sine positions need a width that is a multiple of 4; see the words of the_rule_is_broken [MT-N07]
#include <motet/nn/towers/vit.hpp>

#ifdef MOTET_BREAK
constexpr motet::vit_config config{.width = 102, .heads = 6, .position = motet::position_kind::sine};
#else
constexpr motet::vit_config config{.width = 100, .heads = 10, .position = motet::position_kind::sine};
#endif

static_assert(motet::vit<config>::parameter_size > 0);
