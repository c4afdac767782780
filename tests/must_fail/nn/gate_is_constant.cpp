// SPDX-License-Identifier: Apache-2.0
// expect: motet: a normalised gate needs two chosen experts; see the words of the_rule_is_broken [MT-N10]
#include <motet/nn/layers/mixture.hpp>

#ifdef MOTET_BREAK
constexpr motet::mixture_config config{.width = 8, .experts = 4, .hidden = 8, .top_k = 1};
#else
constexpr motet::mixture_config config{
    .width = 8, .experts = 4, .hidden = 8, .top_k = 1, .gates = motet::gate_kind::probability};
#endif

static_assert(motet::mixture<config>::parameter_size > 0);
