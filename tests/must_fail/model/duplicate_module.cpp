// SPDX-License-Identifier: Apache-2.0
// expect: motet: two modules of a model have the same name; see the words of the_rule_is_broken [MT-M04]
#include <motet/model/model.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

using picture =
    motet::module<"picture",
                  motet::vit<motet::vit_config{.width = 64, .layers = 1, .heads = 1, .embedding = 32}>>;
using caption = motet::module<
    "caption", motet::text_tower<motet::text_config{.width = 64, .layers = 1, .heads = 1, .embedding = 32}>>;

#ifdef MOTET_BREAK
using net = motet::model<motet::join<motet::pairwise_sigmoid, picture, picture>>;
#else
using net = motet::model<motet::join<motet::pairwise_sigmoid, picture, caption>>;
#endif

static_assert(net::size == 2);
