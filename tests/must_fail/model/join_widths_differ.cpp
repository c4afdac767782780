// SPDX-License-Identifier: Apache-2.0
// expect: motet: modules that meet in a join must have equal embedding widths; see the words of the_rule_is_broken [MT-M01]
// words: "third: its embedding has 31",.*"columns, that of the first 32"
#include <motet/model/model.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

using picture =
    motet::module<"picture",
                  motet::vit<motet::vit_config{.width = 64, .layers = 1, .heads = 1, .embedding = 32}>>;
using caption = motet::module<
    "caption", motet::text_tower<motet::text_config{.width = 64, .layers = 1, .heads = 1, .embedding = 32}>>;

#ifdef MOTET_BREAK
using third = motet::module<
    "third", motet::text_tower<motet::text_config{.width = 32, .layers = 1, .heads = 1, .embedding = 31}>>;
#else
using third = motet::module<
    "third", motet::text_tower<motet::text_config{.width = 32, .layers = 1, .heads = 1, .embedding = 32}>>;
#endif

static_assert(motet::model<motet::join<motet::info_nce, picture, caption, third>>::size == 3);
