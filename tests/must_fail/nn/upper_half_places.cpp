// SPDX-License-Identifier: Apache-2.0
// expect: motet: the upper half of a language model has rotary positions; see the words of the_rule_is_broken [MT-N21]
#include <motet/nn/towers/upper_decoder.hpp>

#ifdef MOTET_BREAK
constexpr float base = 0;
#else
constexpr float base = 10000;
#endif
constexpr motet::decoder_config config{
    .vocabulary = 8, .context = 8, .width = 8, .layers = 1, .heads = 2, .rotary = base};

static_assert(motet::upper_decoder<config>::most_rows == 8);
