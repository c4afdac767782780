// SPDX-License-Identifier: Apache-2.0
// expect: motet: of blocks that look at rows of another module every so many one does; see the words of the_rule_is_broken [MT-N31]
// words: "one of 3 blocks looks, and there",.*"are 4"
#include <motet/nn/towers/cross_decoder.hpp>

#ifdef MOTET_BREAK
constexpr motet::isize every = 3;
#else
constexpr motet::isize every = 2;
#endif
constexpr motet::decoder_config words{.vocabulary = 9, .context = 5, .width = 8, .layers = 4, .heads = 2};

static_assert(motet::cross_decoder<words, 6, 4, every>::parameter_size > 0);
