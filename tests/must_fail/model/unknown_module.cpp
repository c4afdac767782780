// SPDX-License-Identifier: Apache-2.0
// expect: motet: no module of the model has this name; see the words of the_rule_is_broken [MT-M03]
// words: "captoin; there are picture,".*"caption; did you mean caption"
// computed: motet: no module of the model has this name: captoin; there are picture, caption; did you mean caption. use a name that the model declares [MT-M03]
#include <motet/model/model.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

template <motet::isize Embedding>
using picture = motet::module<
    "picture", motet::vit<motet::vit_config{
                   .image = 32, .patch = 8, .width = 64, .layers = 2, .heads = 4, .embedding = Embedding}>>;
using caption = motet::module<
    "caption", motet::text_tower<motet::text_config{
                   .vocabulary = 100, .context = 8, .width = 64, .layers = 2, .heads = 4, .embedding = 16}>>;

using clip = motet::model<motet::join<motet::info_nce, picture<16>, caption>>;
#ifdef MOTET_BREAK
static_assert(clip::position<"captoin">() < 2);
#else
static_assert(clip::position<"caption">() == 1);
#endif
