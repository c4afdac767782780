// SPDX-License-Identifier: Apache-2.0
// expect: motet: a loss asks for modules that end as it needs them; see the words of the_rule_is_broken [MT-M06]
#include <motet/model/graph.hpp>
#include <motet/nn/towers/drawer.hpp>

using draw =
    motet::module<"draw",
                  motet::drawer<motet::drawer_config{.image = 8, .width = 32, .layers = 1, .heads = 2}>>;

#ifdef MOTET_BREAK
using net = motet::model<motet::modules<draw>, motet::loss<motet::next_token, "draw">>;
#else
using net = motet::model<motet::modules<draw>, motet::loss<motet::denoise, "draw">>;
#endif

static_assert(net::embedding == 1);
