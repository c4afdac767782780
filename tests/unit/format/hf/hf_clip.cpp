// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_clip.hpp>

#include <doctest/doctest.h>

using motet::read_hf_clip_config;

TEST_CASE("absent fields have the defaults of the transformers package") {
  const auto c = read_hf_clip_config("{}", "config.json");
  CHECK(c.vision.width == 768);
  CHECK(c.vision.hidden == 3072);
  CHECK(c.vision.layers == 12);
  CHECK(c.vision.heads == 12);
  CHECK(c.vision.activation == "quick_gelu");
  CHECK(c.vision.epsilon == 1e-5);
  CHECK(c.image == 224);
  CHECK(c.patch == 32);
  CHECK(c.channels == 3);
  CHECK(c.text.width == 512);
  CHECK(c.text.hidden == 2048);
  CHECK(c.text.layers == 12);
  CHECK(c.text.heads == 8);
  CHECK(c.vocabulary == 49408);
  CHECK(c.context == 77);
  CHECK(c.end_token == 49407);
  CHECK(c.projection == 512);
  CHECK(c.logit_scale == 2.6592);
}

TEST_CASE("every field is read, and what has no influence on features is passed over") {
  const auto c = read_hf_clip_config(
      R"({"model_type": "clip", "projection_dim": 24, "logit_scale_init_value": 2, "torch_dtype": "float16", "initializer_factor": 1.0,
    "vision_config": {"hidden_size": 48, "intermediate_size": 100, "num_hidden_layers": 3, "num_attention_heads": 4, "image_size": 37, "patch_size": 7,
      "num_channels": 1, "hidden_act": "gelu", "layer_norm_eps": 1e-6, "attention_dropout": 0.1, "projection_dim": 999, "dropout": 0.0},
    "text_config": {"hidden_size": 40, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 5, "vocab_size": 99, "max_position_embeddings": 11,
      "hidden_act": "gelu_new", "eos_token_id": 2, "bos_token_id": 0, "id2label": {"0": "a"}}})",
      "config.json");
  CHECK(c.vision.width == 48);
  CHECK(c.vision.hidden == 100);
  CHECK(c.vision.heads == 4);
  CHECK(c.vision.activation == "gelu");
  CHECK(c.vision.epsilon == 1e-6);
  CHECK(c.image == 37);
  CHECK(c.covered() == 35);
  CHECK(c.channels == 1);
  CHECK(c.dropout);
  CHECK(c.text.width == 40);
  CHECK(c.text.activation == "gelu_tanh");
  CHECK(c.context == 11);
  CHECK(c.end_token == 2);
  CHECK(c.projection == 24);
  CHECK(c.logit_scale == 2.0);
}

TEST_CASE("the older *_config_dict wins whole, with defaults for what it leaves out") {
  const auto c = read_hf_clip_config(
      R"({"text_config": {"hidden_size": 64, "num_attention_heads": 4}, "text_config_dict": {"hidden_size": 128},
                                         "vision_config": {"hidden_size": 24}, "vision_config_dict": null})",
      "config.json");
  CHECK(c.text.width == 128);
  CHECK(c.text.heads == 8);
  CHECK(c.vision.width == 24);
  CHECK(read_hf_clip_config(R"({"text_config": null})", "config.json").text.width == 512);
}

TEST_CASE("what cannot be computed here is refused by the field's name") {
  const auto refusal = [](const char* text) -> std::string {
    try {
      read_hf_clip_config(text, "config.json");
      return "";
    } catch (const motet::error& problem) {
      return problem.what();
    }
  };
  const auto refused = [&](const char* text, std::string_view part) {
    const std::string said = refusal(text);
    CAPTURE(text);
    CAPTURE(said);
    CHECK(said.find(part) != std::string::npos);
    CHECK(said.find("[MT-F13]") != std::string::npos);
  };
  refused(R"({"model_type": "siglip"})", "model_type is \"siglip\"");
  refused(R"({"vision_config": {"hidden_act": "mish"}})", "vision_config.hidden_act is \"mish\"");
  refused(R"({"text_config": {"num_attention_heads": 7}})",
          "text_config.num_attention_heads is 7, which does not divide hidden_size 512");
  refused(R"({"vision_config": {"image_size": [224, 224]}})",
          "vision_config.image_size is not a positive count: an array");
  refused(R"({"vision_config": {"patch_size": 0}})", "vision_config.patch_size is not a positive count: 0");
  refused(R"({"vision_config": {"patch_size": 300}})", "vision_config.patch_size is larger than image_size");
  refused(R"({"vision_config": {"hidden_size": -1}})", "vision_config.hidden_size");
  refused(R"({"vision_config": {"hidden_size": 1e300}})", "vision_config.hidden_size");
  refused(R"({"vision_config": {"layer_norm_eps": null}})",
          "vision_config.layer_norm_eps is not a number: null");
  refused(R"({"vision_config": {"layer_norm_eps": -1}})", "vision_config.layer_norm_eps");
  refused(R"({"text_config": {"eos_token_id": [1, 2]}})", "text_config.eos_token_id is an array");
  refused(R"({"text_config": 7})", "text_config is not an object");
  refused("7", "is not an object");
  CHECK(refusal("{").find("[MT-F01]") != std::string::npos);
}

TEST_CASE("captions are pooled where the transformers package pools them") {
  const int tokens[] = {5, 3, 9, 7, 9, 3};
  CHECK(motet::hf_end_position(tokens, 6, 9) == 2);
  CHECK(motet::hf_end_position(tokens, 6, 7) == 3);
  CHECK(motet::hf_end_position(tokens, 6, 4) == 0);  // none: the first token of all
  CHECK(motet::hf_end_position(tokens, 6, 2) == 2);  // 2 stands for the highest token, the first of them
  CHECK(motet::hf_end_position(tokens, 1, 9) == 0);
}
