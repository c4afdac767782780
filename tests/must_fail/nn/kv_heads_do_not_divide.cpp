// SPDX-License-Identifier: Apache-2.0
// expect: motet: the key-value head count must divide the head count; see the words of the_rule_is_broken [MT-N03]
// words: "5 key-value heads do not divide",.*"12 heads"
#include <motet/nn/towers/vit.hpp>

#ifdef MOTET_BREAK
constexpr motet::vit_config config{.heads = 12, .kv_heads = 5};
#else
constexpr motet::vit_config config{.heads = 12, .kv_heads = 4};
#endif

static_assert(motet::vit<config>::parameter_size > 0);
