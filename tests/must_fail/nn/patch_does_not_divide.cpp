// SPDX-License-Identifier: Apache-2.0
// expect: motet: the patch side must divide the picture side; see the words of the_rule_is_broken [MT-N02]
// words: "patches of 15 do not divide",.*"pictures of 224"
#include <motet/nn/towers/vit.hpp>

#ifdef MOTET_BREAK
constexpr motet::vit_config config{.image = 224, .patch = 15};
#else
constexpr motet::vit_config config{.image = 224, .patch = 14};
#endif

static_assert(motet::vit<config>::parameter_size > 0);
