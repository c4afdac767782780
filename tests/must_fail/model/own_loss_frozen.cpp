// SPDX-License-Identifier: Apache-2.0
// expect: motet: a loss needs a module that learns from it; see the words of the_rule_is_broken [MT-M07]
#include <motet/model/model.hpp>
#include <motet/nn/towers/decoder.hpp>

using talk =
    motet::module<"talk", motet::decoder<motet::decoder_config{
                              .vocabulary = 64, .context = 8, .width = 32, .layers = 1, .heads = 2}>>;

#ifdef MOTET_BREAK
using net = motet::model<motet::join<motet::next_token, motet::module<"talk", motet::frozen<talk::net>>>>;
#else
using net = motet::model<motet::join<motet::next_token, talk>>;
#endif

static_assert(net::embedding == 1);
