// SPDX-License-Identifier: Apache-2.0
#include <motet/model/model.hpp>

#include <motet/nn/towers/decoder.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace motet;

namespace {

using picture =
    module<"picture",
           vit<vit_config{.image = 8, .patch = 4, .width = 12, .layers = 2, .heads = 2, .embedding = 8}>>;
using caption_net = text_tower<text_config{
    .vocabulary = 17, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>;
using caption = module<"caption", caption_net>;
using fixed_caption = module<"caption", frozen<caption_net>>;
using sound =
    module<"sound",
           vit<vit_config{
               .image = 4, .patch = 2, .channels = 1, .width = 6, .layers = 1, .heads = 1, .embedding = 8}>>;
using wide =
    module<"wide",
           vit<vit_config{.image = 4, .patch = 2, .width = 6, .layers = 1, .heads = 1, .embedding = 9}>>;

using two = model<join<info_nce, picture, caption>>;
using three = model<join<pairwise_sigmoid, fixed_caption, picture, sound>>;

using talk =
    module<"talk",
           decoder<decoder_config{.vocabulary = 17, .context = 6, .width = 8, .layers = 2, .heads = 2}>>;
using fixed_talk = module<"talk", frozen<talk::net>>;

template <class Loss, class... Modules>
constexpr verdict verdict_of() {
  return detail::check_join(static_cast<const join<Loss, Modules...>*>(nullptr));
}
constexpr bool holds(const verdict& found, broken_rule why, motet::isize where, motet::isize got,
                     motet::isize wanted) {
  return found.why == why && found.where == where && found.got == got && found.wanted == wanted;
}
// The compiler and a program find the same in a join.
constexpr bool joins_are_judged() {
  return verdict_of<info_nce, picture, caption>().ok() && verdict_of<next_token, talk>().ok() &&
         holds(verdict_of<info_nce, picture>(), reason::join_too_small, 0, 1, 2) &&
         holds(verdict_of<next_token, talk, talk>(), reason::own_loss_of_several, 1, 2, 1) &&
         holds(verdict_of<info_nce, picture, talk>(), reason::loss_lacks_head, 1, 1, 0) &&
         holds(verdict_of<next_token, fixed_talk>(), reason::own_loss_frozen, 0, 0, 1) &&
         holds(verdict_of<info_nce, picture, caption, wide>(), reason::join_widths_differ, 2, 9, 8) &&
         holds(verdict_of<info_nce, picture, caption, picture>(), reason::duplicate_module, 2, 0, 2);
}

}  // namespace

static_assert(joins_are_judged());
TEST_CASE("what is wrong with a join is told of its module") { CHECK(joins_are_judged()); }

static_assert(two::size == 2 && two::embedding == 8);
static_assert(two::position<"caption">() == 1 && three::position<"sound">() == 2);
static_assert(two::joins[0].share == 1 && three::joins[0].share == 1.0 / 3);
// Modules that learn come first, then the loss, then those that are frozen.
static_assert(two::offsets[0] == 0 && two::offsets[1] == picture::net::parameter_size);
static_assert(two::trainable_size == two::parameter_size);
static_assert(three::offsets[1] == 0 && three::offsets[2] == picture::net::parameter_size);
static_assert(three::loss_at == picture::net::parameter_size + sound::net::parameter_size);
static_assert(three::offsets[0] == three::trainable_size);
static_assert(three::parameter_size == three::trainable_size + caption_net::parameter_size);

namespace {

template <class Model>
void check_parameters() {
  const auto all = Model::parameters();
  std::set<std::string> names;
  std::vector<bool> used(static_cast<std::size_t>(Model::parameter_size));
  for (const parameter& p : all) {
    CHECK(names.insert(p.name).second);
    REQUIRE(p.offset >= 0);
    REQUIRE(p.offset + p.size() <= Model::parameter_size);
    for (motet::isize i = 0; i < p.size(); ++i) {
      const auto at = static_cast<std::size_t>(p.offset + i);
      REQUIRE(!used[at]);
      used[at] = true;
    }
  }
}

}  // namespace

TEST_CASE("every parameter has a name and a place of its own") {
  check_parameters<two>();
  check_parameters<three>();
}

TEST_CASE("names are global and say where a tensor belongs") {
  std::set<std::string> names;
  for (const parameter& p : two::parameters()) names.insert(p.name);
  for (const char* name :
       {"picture.embed.patch.weight", "picture.embed.class", "picture.blocks.0.attention.qkv.weight",
        "picture.blocks.1.mlp.down.bias", "picture.norm.weight", "picture.projection.weight",
        "caption.embed.token", "caption.blocks.1.attention.norm.bias", "join.log_scale"})
    CHECK_MESSAGE(names.contains(name), std::string(name));
}

TEST_CASE("frozen modules lie behind what learns") {
  for (const parameter& p : three::parameters())
    CHECK_EQ(p.name.starts_with("caption."), p.offset >= three::trainable_size);
}
