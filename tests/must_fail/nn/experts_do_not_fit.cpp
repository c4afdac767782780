// SPDX-License-Identifier: Apache-2.0
// expect: motet: a row must choose one or more of a mixture's experts, which are 65535 at most; see the words of the_rule_is_broken [MT-N09]
#include <motet/nn/layers/mixture.hpp>

#ifdef MOTET_BREAK
constexpr motet::mixture_config config{.width = 8, .experts = 4, .hidden = 8, .top_k = 5};
#else
constexpr motet::mixture_config config{.width = 8, .experts = 4, .hidden = 8, .top_k = 4};
#endif

static_assert(motet::mixture<config>::parameter_size > 0);
