// SPDX-License-Identifier: Apache-2.0
// expect: motet: sizes of a net must be positive; see the words of the_rule_is_broken [MT-N04]
#include <motet/nn/towers/sound_tower.hpp>

#ifdef MOTET_BREAK
constexpr motet::sound_config config{.frames = 0};
#else
constexpr motet::sound_config config{.frames = 1};
#endif

static_assert(motet::sound_tower<config>::parameter_size > 0);
