// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_clip_describe.hpp>
#include <motet/format/hf/hf_clip_tensors.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/model/describe.hpp>
#include <motet/nn/towers/decoder_rows.hpp>
#include <motet/nn/towers/fed_drawer.hpp>
#include <motet/nn/towers/upper_decoder.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

constexpr vit_config picture_net{.image = 12,
                                 .patch = 4,
                                 .width = 24,
                                 .layers = 3,
                                 .heads = 3,
                                 .hidden = 40,
                                 .embedding = 8,
                                 .act = activation::quick_gelu,
                                 .pre_norm = true,
                                 .recompute = true};
constexpr text_config caption_net{.vocabulary = 50,
                                  .context = 7,
                                  .width = 16,
                                  .layers = 2,
                                  .heads = 2,
                                  .embedding = 8,
                                  .act = activation::gelu_tanh,
                                  .epsilon = 1e-6f};
using picture = module<"picture", vit<picture_net>>;
using caption = module<"caption", frozen<text_tower<caption_net>>>;
using clip = model<join<info_nce, picture, caption>>;

}  // namespace

TEST_CASE("modules and their nets are said as data") {
  const json said = describe<clip>();
  const auto& modules = said.at("modules").items();
  REQUIRE(modules.size() == 2);
  CHECK(modules[0].at("name").string() == "picture");
  CHECK(modules[0].at("frozen") == json(false));
  CHECK(modules[1].at("frozen") == json(true));
  CHECK(modules[0].at("net").at("hidden").integer() == 40);
  CHECK(modules[1].at("net").at("hidden").integer() == 64);
  CHECK(modules[1].at("net").at("head_width").integer() == 8);
  CHECK(modules[1].at("net").at("kv_heads").integer() == 2);
  CHECK(modules[1].at("net").at("act").string() == "gelu_tanh");
}

TEST_CASE("a net that draws is said as data") {
  using draw =
      module<"draw", drawer<drawer_config{.image = 8, .width = 16, .layers = 2, .heads = 2, .classes = 5}>>;
  const json said = describe<model<join<denoise, draw>>>().at("modules").items()[0].at("net");
  CHECK(said.at("net").string() == "drawer");
  CHECK(said.at("hidden").integer() == 64);
  CHECK(said.at("classes").integer() == 5);
}

TEST_CASE("heads and halves that are modules of their own are said as data") {
  constexpr decoder_config words{.vocabulary = 20, .context = 6, .width = 16, .layers = 1, .heads = 2};
  using lower = module<"lower", decoder_rows<words>>;
  using said =
      module<"said", pooled_rows<pooled_config{
                         .width = 16, .rows = 6, .embedding = 8, .pool = pool_kind::attention, .heads = 4}>>;
  using upper = module<"upper", upper_decoder<words>>;
  const json all =
      describe<model<modules<lower, said, upper, caption>, edge<"lower", "said">, edge<"lower", "upper">,
                     loss<info_nce, "said", "caption">, loss<next_token, "upper">>>();
  const auto& modules = all.at("modules").items();
  CHECK(modules[1].at("net").at("net").string() == "pooled_rows");
  CHECK(modules[1].at("net").at("rows").integer() == 6);
  CHECK(modules[1].at("net").at("heads").integer() == 4);
  CHECK(modules[1].at("net").at("pool").string() == "attention");
  CHECK(modules[2].at("net").at("net").string() == "upper_decoder");
  CHECK(modules[2].at("net").at("rows").integer() == 6);
}

TEST_CASE("a chain from words to a picture is said as data") {
  constexpr decoder_config words{.vocabulary = 20, .context = 6, .width = 16, .layers = 1, .heads = 2};
  constexpr drawer_config canvas{.image = 8, .width = 12, .layers = 1, .heads = 2, .classes = 0};
  const json said =
      describe<model<modules<module<"words", decoder_rows<words>>, module<"draw", fed_drawer<canvas, 16, 6>>>,
                     edge<"words", "draw">, loss<denoise, "draw">>>();
  const auto& modules = said.at("modules").items();
  CHECK(modules[0].at("net").at("net").string() == "decoder_rows");
  CHECK(modules[1].at("net").at("net").string() == "fed_drawer");
  CHECK(modules[1].at("net").at("rows").integer() == 6);
  CHECK(modules[1].at("net").at("fed").integer() == 16);
  CHECK(said.at("edges").items().size() == 1);
}

TEST_CASE("how a net is computed is not part of what it is") {
  vit_config other = picture_net;
  other.recompute = false;
  CHECK(describe(other) == describe(picture_net));
  other.heads = 2;
  CHECK_FALSE(describe(other) == describe(picture_net));
}

TEST_CASE("what a decoder loses is part of what it is, and a z loss is said where there is one") {
  CHECK(describe(decoder_config{}).find("z_loss") == nullptr);
  CHECK(describe(decoder_config{.z_loss = 0.5f}).at("z_loss").number() == 0.5);
}

TEST_CASE("each parameter of a CLIP model has its Hugging Face tensors, of its size") {
  const hf_described found = describe_as_hf_clip(describe<clip>());
  const auto map = hf_clip_tensors(found.config, found.picture, found.caption);
  const auto parameters = clip::parameters();
  CHECK(map.size() == parameters.size());
  for (const parameter& own : parameters) {
    CAPTURE(own.name);
    const auto row =
        std::find_if(map.begin(), map.end(), [&](const hf_tensor& r) { return r.ours == own.name; });
    REQUIRE(row != map.end());
    CHECK(row->elements() == own.size());
  }
}
