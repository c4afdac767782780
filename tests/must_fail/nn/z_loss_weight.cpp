// SPDX-License-Identifier: Apache-2.0
// expect: motet: a z loss weighs 0 or more; see the words of the_rule_is_broken [MT-N16]
#include <motet/nn/towers/decoder.hpp>

#ifdef MOTET_BREAK
constexpr motet::decoder_config config{.z_loss = -1e-4f};
#else
constexpr motet::decoder_config config{.z_loss = 1e-4f};
#endif

static_assert(motet::decoder<config>::parameter_size > 0);
