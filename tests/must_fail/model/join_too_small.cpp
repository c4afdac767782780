// SPDX-License-Identifier: Apache-2.0
// expect: motet: a join needs at least two modules; see the words of the_rule_is_broken [MT-M02]
#include <motet/model/model.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

using picture =
    motet::module<"picture",
                  motet::vit<motet::vit_config{.width = 64, .layers = 1, .heads = 1, .embedding = 32}>>;
using caption = motet::module<
    "caption", motet::text_tower<motet::text_config{.width = 64, .layers = 1, .heads = 1, .embedding = 32}>>;

#ifdef MOTET_BREAK
using net = motet::model<motet::join<motet::info_nce, picture>>;
#else
using net = motet::model<motet::join<motet::info_nce, picture, caption>>;
#endif

static_assert(net::embedding == 32);
