// SPDX-License-Identifier: Apache-2.0
// expect: motet: a table of tokens that is the last product, too, is whole everywhere; see the words of the_rule_is_broken [MT-N27]
#include <motet/nn/towers/decoder.hpp>

#ifdef MOTET_BREAK
constexpr bool cut = true;
#else
constexpr bool cut = false;
#endif
constexpr motet::decoder_config config{
    .vocabulary = 8, .context = 8, .width = 8, .layers = 1, .heads = 2, .cut_vocabulary = cut, .tied = true};

static_assert(motet::decoder<config>::stage::ends_share_table);
