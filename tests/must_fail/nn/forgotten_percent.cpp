// SPDX-License-Identifier: Apache-2.0
// expect: motet: the part of pictures whose class is not told is between 0 and 1; see the words of the_rule_is_broken [MT-N19]
#include <motet/nn/towers/drawer.hpp>

#ifdef MOTET_BREAK
constexpr motet::drawer_config config{.layers = 1, .forgotten = 10};
#else
constexpr motet::drawer_config config{.layers = 1, .forgotten = 0.1f};
#endif

static_assert(motet::drawer<config>::parameter_size > 0);
