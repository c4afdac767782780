// SPDX-License-Identifier: Apache-2.0
// expect: motet: a stage must be a range of its tower's blocks, with one block at least; see the words of the_rule_is_broken [MT-N08]
// words: "the last block is 13, wanted 12"
#include <motet/nn/towers/vit.hpp>

constexpr motet::vit_config config{.layers = 12};
using stage = motet::vit<config>::stage;

#ifdef MOTET_BREAK
constexpr motet::stage_range last{9, 13};
#else
constexpr motet::stage_range last{9, 12};
#endif

static_assert(motet::require<stage::check(last)>);
