// SPDX-License-Identifier: Apache-2.0
// expect: motet: sine positions in time need an even width of 4 or more; see the words of the_rule_is_broken [MT-N15]
#include <motet/nn/towers/sound_rows.hpp>

#ifdef MOTET_BREAK
constexpr motet::sound_config config{.width = 99, .heads = 9};
#else
constexpr motet::sound_config config{.width = 90, .heads = 9};
#endif

static_assert(motet::sound_rows<config>::parameter_size > 0);
