// SPDX-License-Identifier: Apache-2.0
// expect: motet: a loss asks for modules that end as it needs them; see the words of the_rule_is_broken [MT-M06]
#include <motet/model/model.hpp>
#include <motet/nn/towers/decoder.hpp>
#include <motet/nn/towers/drawer.hpp>

using talk =
    motet::module<"talk", motet::decoder<motet::decoder_config{
                              .vocabulary = 64, .context = 8, .width = 32, .layers = 1, .heads = 2}>>;
using draw =
    motet::module<"draw",
                  motet::drawer<motet::drawer_config{.image = 8, .width = 32, .layers = 1, .heads = 2}>>;

#ifdef MOTET_BREAK
using net = motet::model<motet::join<motet::denoise, talk>>;
#else
using net = motet::model<motet::join<motet::denoise, draw>>;
#endif

static_assert(net::embedding == 1);
