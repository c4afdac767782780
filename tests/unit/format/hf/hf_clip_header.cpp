// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_clip_header.hpp>

#include <doctest/doctest.h>

TEST_CASE("the header holds the configuration, field by field") {
  const auto config = motet::read_hf_clip_config(R"({"projection_dim": 24,
    "vision_config": {"hidden_size": 48, "intermediate_size": 100, "num_hidden_layers": 3, "num_attention_heads": 4, "image_size": 37, "patch_size": 7, "layer_norm_eps": 1},
    "text_config": {"hidden_size": 40, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 5, "vocab_size": 99, "max_position_embeddings": 11, "hidden_act": "silu"}})",
                                                 "c");
  CHECK(motet::hf_clip_header(config, "my_clip") ==
        R"(// A CLIP model in C++, made from its Hugging Face configuration by import_hf.
#pragma once

#include <motet/motet.hpp>

namespace my_clip {

inline constexpr motet::vit_config picture_config{
    // Pictures have 37 pixels a side; whole patches cover these.
    .image = 35,
    .patch = 7,
    .channels = 3,
    .width = 48,
    .layers = 3,
    .heads = 4,
    .hidden = 100,
    .embedding = 24,
    .act = motet::activation::quick_gelu,
    .epsilon = 1.0f,
    .pre_norm = true,
};
inline constexpr motet::text_config caption_config{
    .vocabulary = 99,
    .context = 11,
    .width = 40,
    .layers = 2,
    .heads = 5,
    .hidden = 96,
    .embedding = 24,
    .act = motet::activation::silu,
    .epsilon = 1e-05f,
};

using picture = motet::module<"picture", motet::vit<picture_config>>;
using caption = motet::module<"caption", motet::text_tower<caption_config>>;
using model = motet::model<motet::join<motet::info_nce, picture, caption>>;

}  // namespace my_clip
)");
}

TEST_CASE("pictures of another side than the file's have its positions") {
  const auto config =
      motet::read_hf_clip_config(R"({"vision_config": {"image_size": 37, "patch_size": 7}})", "c");
  const std::string header = motet::hf_clip_header(config, "my_clip", 50);
  CHECK(header.find("// Pictures have 50 pixels a side; whole patches cover these.\n    .image = 49,\n") !=
        std::string::npos);
  CHECK(header.find("    .learned_image = 35,\n    .pre_norm = true,") != std::string::npos);
  CHECK(motet::hf_clip_header(config, "my_clip", 41).find("learned_image") == std::string::npos);
}

TEST_CASE("only identifiers name a namespace") {
  for (const char* good : {"a", "my_clip", "Model2"}) CHECK(motet::is_identifier(good));
  for (const char* bad : {"", "2a", "a-b", "a b", "_a", "a__b", "motet", "std", "a\n", "\xc3\xa9"})
    CHECK_FALSE(motet::is_identifier(bad));
}
