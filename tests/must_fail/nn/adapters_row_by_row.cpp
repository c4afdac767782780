// SPDX-License-Identifier: Apache-2.0
// expect: motet: a net with adapters does not go on row by row; see the words of the_rule_is_broken [MT-N18]
#include <motet/nn/towers/decoder.hpp>
#include <motet/nn/towers/last_logits.hpp>

#ifdef MOTET_BREAK
constexpr motet::isize rank = 2;
#else
constexpr motet::isize rank = 0;
#endif
constexpr motet::decoder_config config{
    .vocabulary = 8, .context = 8, .width = 8, .layers = 1, .heads = 2, .adapters = {.rank = rank}};

static_assert(motet::continued<motet::decoder<config>::logits>::vocabulary == 8);
