// SPDX-License-Identifier: Apache-2.0
// expect: motet: a loss asks for modules that end as it needs them; see the words of the_rule_is_broken [MT-M06]
#include <motet/model/model.hpp>
#include <motet/nn/towers/decoder.hpp>
#include <motet/nn/towers/text.hpp>

using talk =
    motet::module<"talk", motet::decoder<motet::decoder_config{
                              .vocabulary = 64, .context = 8, .width = 32, .layers = 1, .heads = 2}>>;
using caption = motet::module<
    "caption", motet::text_tower<motet::text_config{.width = 64, .layers = 1, .heads = 1, .embedding = 1}>>;

#ifdef MOTET_BREAK
using net = motet::model<motet::join<motet::next_token, caption>>;
#else
using net = motet::model<motet::join<motet::next_token, talk>>;
#endif

static_assert(net::embedding == 1);
