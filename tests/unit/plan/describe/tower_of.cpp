// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/tower_work.hpp>
#include <motet/plan/describe/tower_of.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr vit_config seen{.image = 32,
                          .patch = 8,
                          .width = 48,
                          .layers = 4,
                          .heads = 6,
                          .kv_heads = 3,
                          .embedding = 24,
                          .patch_bias = true,
                          .pre_norm = true};
constexpr text_config read{.vocabulary = 90,
                           .context = 20,
                           .width = 32,
                           .layers = 2,
                           .heads = 5,
                           .head_width = 16,
                           .hidden = 100,
                           .embedding = 24,
                           .rotary = 10000,
                           .norm = norm_kind::rms,
                           .gated = true,
                           .cut_vocabulary = true,
                           .context_kind = context_attention::ring};
using picture = module<"picture", vit<seen>>;
using caption = module<"caption", frozen<text_tower<read>>>;
using pair = model<join<info_nce, picture, caption>>;

}  // namespace

TEST_CASE("a vision transformer") {
  tower_outline wanted;
  wanted.name = "picture";
  wanted.layers = 4;
  wanted.width = 48;
  wanted.heads = 6;
  wanted.key_heads = 3;
  wanted.hidden = 192;
  wanted.tokens = 17;
  wanted.patch = 192;
  wanted.embedding = 24;
  wanted.end = tower_end::block_of_row;
  wanted.class_row = wanted.patch_bias = wanted.pre_norm = true;
  CHECK(tower_of<picture>() == wanted);
  static_assert(parameters_of(tower_of<picture>()) == vit<seen>::parameter_size);
}

TEST_CASE("a text transformer that does not learn") {
  tower_outline wanted;
  wanted.name = "caption";
  wanted.layers = 2;
  wanted.width = 32;
  wanted.heads = 5;
  wanted.head_width = 16;
  wanted.hidden = 100;
  wanted.gated = wanted.causal = wanted.frozen = wanted.rms = wanted.rotary = wanted.cut_vocabulary =
      wanted.ring = true;
  wanted.tokens = 20;
  wanted.vocabulary = 90;
  wanted.embedding = 24;
  wanted.end = tower_end::row;  // a turned query cannot be picked
  wanted.positions = false;
  CHECK(tower_of<caption>() == wanted);
  static_assert(parameters_of(tower_of<caption>()) == text_tower<read>::parameter_size);
}

TEST_CASE("ends and experts") {
  using mean = vit<vit_config{.image = 16,
                              .patch = 8,
                              .width = 16,
                              .layers = 2,
                              .heads = 2,
                              .embedding = 8,
                              .pool = pool_kind::mean,
                              .position = position_kind::sine}>;
  using looks = vit<vit_config{.image = 16,
                               .patch = 8,
                               .width = 16,
                               .layers = 2,
                               .heads = 2,
                               .embedding = 8,
                               .pool = pool_kind::attention}>;
  using sparse = text_tower<text_config{.vocabulary = 30,
                                        .context = 8,
                                        .width = 16,
                                        .layers = 2,
                                        .heads = 2,
                                        .embedding = 8,
                                        .mix = {.experts = 4, .hidden = 24, .top_k = 2}}>;
  constexpr tower_outline m = outline_of<mean>("m"), l = outline_of<looks>("l"), s = outline_of<sparse>("s");
  CHECK((m.end == tower_end::mean && !m.positions && !m.class_row && m.tokens == 4));
  CHECK(l.end == tower_end::attention);
  CHECK((s.end == tower_end::row && s.experts == 4 && s.chosen == 2 && s.hidden == 24));
  CHECK(parameters_of(m) == mean::parameter_size);
  CHECK(parameters_of(l) == looks::parameter_size);
  CHECK(parameters_of(s) == sparse::parameter_size);
}

TEST_CASE("a whole model, with the facts that plans are checked with") {
  static_assert(model_shape_of<pair>().towers.size() == 2);
  const model_shape of = model_shape_of<pair>("clip");
  CHECK((of.name.view() == "clip" && of.join.view() == "info_nce" && of.towers.size() == 2));
  CHECK(model_shape_of<model<join<pairwise_sigmoid, picture, caption>>>().join.view() == "sigmoid");
  const list<module_facts> typed = facts_of<pair>(), plain = facts_of(model_shape_of<pair>());
  REQUIRE(typed.size() == plain.size());
  for (isize k = 0; k < typed.size(); ++k)
    CHECK((typed[k].name == plain[k].name && typed[k].layers == plain[k].layers &&
           typed[k].key_heads == plain[k].key_heads && typed[k].attends == plain[k].attends &&
           typed[k].frozen == plain[k].frozen));
  for (isize k = 0; k < 2; ++k) CHECK(check(model_shape_of<pair>().towers[k]).ok());
}
