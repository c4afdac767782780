// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_llava.hpp>

#include <doctest/doctest.h>

using motet::read_hf_llava_config;

namespace {

std::string refusal(const char* text) {
  try {
    read_hf_llava_config(text, "c");
    return "";
  } catch (const motet::error& problem) {
    return problem.what();
  }
}
bool contains(const std::string& said, std::string_view part) { return said.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("absent fields have the defaults of the transformers package") {
  const auto llava = read_hf_llava_config(R"({"model_type": "llava"})", "c");
  CHECK_FALSE(llava.siglip);
  CHECK((llava.eye.width == 1024 && llava.eye.hidden == 4096 && llava.eye.layers == 24 &&
         llava.eye.heads == 16));
  CHECK((llava.image == 336 && llava.patch == 14 && llava.seen == 23 && llava.lead == 1));
  CHECK(llava.rows_of_picture() == 577);
  CHECK((llava.act == "gelu" && llava.bias));
  CHECK((llava.words.family == "llama" && llava.words.width == 4096));
  CHECK(llava.picture_token == 32000);
  const auto siglip = read_hf_llava_config(
      R"({"model_type": "llava", "vision_config": {"model_type": "siglip_vision_model", "image_size": 30, "num_hidden_layers": 3},
        "text_config": {"model_type": "qwen2"}, "vision_feature_layer": 2, "vision_feature_select_strategy": "full",
        "image_token_id": 7, "projector_hidden_act": "relu", "multimodal_projector_bias": false})",
      "c");
  CHECK(siglip.siglip);
  CHECK((siglip.eye.activation == "gelu_tanh" && siglip.eye.epsilon == 1e-6 && siglip.eye.layers == 3));
  CHECK((siglip.patch == 16 && siglip.covered() == 16 && siglip.seen == 2 && siglip.lead == 0));
  CHECK(siglip.rows_of_picture() == 1);
  CHECK((siglip.act == "relu" && !siglip.bias && siglip.picture_token == 7));
  CHECK(siglip.words.family == "qwen2");
}

TEST_CASE("what no net here computes is named") {
  CHECK(contains(refusal(R"({"model_type": "clip"})"), "model_type is \"clip\", wanted llava"));
  CHECK(
      contains(refusal(R"({"model_type": "llava", "vision_config": {"model_type": "vit"}})"),
               "vision_config.model_type is \"vit\"; offered are clip_vision_model and siglip_vision_model"));
  CHECK(contains(refusal(R"({"model_type": "llava", "vision_feature_layer": [-2, -5]})"),
                 "vision_feature_layer is an array, wanted the number of one layer"));
  CHECK(contains(refusal(R"({"model_type": "llava", "vision_feature_layer": 0})"),
                 "vision_feature_layer is 0, the eye has 24 layers"));
  CHECK(contains(refusal(R"({"model_type": "llava", "vision_feature_select_strategy": "odd"})"),
                 "is \"odd\"; offered are default and full"));
  CHECK(contains(refusal(R"({"model_type": "llava", "image_token_index": -1})"),
                 "image_token_index is negative"));
  CHECK(contains(refusal(R"({"model_type": "llava", "text_config": {"model_type": "opt"}})"),
                 "text_config.model_type is \"opt\""));
  CHECK(contains(refusal(R"({"model_type": "llava", "projector_hidden_act": "tanh"})"),
                 "projector_hidden_act is \"tanh\""));
  CHECK(contains(refusal(R"({"model_type": "llava", "vision_config": {"patch_size": 300}})"), "MT-F13"));
}

TEST_CASE("tensors are named as in such files, those that are seen and no others") {
  auto config = read_hf_llava_config(
      R"({"model_type": "llava", "vision_config": {"num_hidden_layers": 2}, "text_config": {"num_hidden_layers": 1}})",
      "c");
  const auto names = [&] {
    std::vector<std::string> out;
    for (const motet::hf_tensor& each : motet::hf_llava_tensors(config, "talk", "v."))
      for (const motet::hf_part& part : each.theirs) out.push_back(each.ours + " " + part.name);
    return out;
  };
  const auto holds = [](const std::vector<std::string>& all, const char* wanted) {
    return std::find(all.begin(), all.end(), wanted) != all.end();
  };
  const auto clip = names();
  for (const char* each :
       {"talk.embed.eye.embed.patch.weight v.embeddings.patch_embedding.weight",
        "talk.embed.eye.embed.class v.embeddings.class_embedding",
        "talk.embed.eye.embed.norm.bias v.pre_layrnorm.bias",
        "talk.embed.eye.blocks.0.attention.qkv.weight v.encoder.layers.0.self_attn.k_proj.weight",
        "talk.embed.glue.up.bias multi_modal_projector.linear_1.bias",
        "talk.embed.token language_model.model.embed_tokens.weight",
        "talk.blocks.0.mlp.down.weight language_model.model.layers.0.mlp.down_proj.weight",
        "talk.head.weight language_model.lm_head.weight"})
    CHECK_MESSAGE(holds(clip, each), each);
  CHECK_FALSE(holds(clip, "talk.embed.eye.blocks.1.mlp.up.bias v.encoder.layers.1.mlp.fc1.bias"));
  CHECK(motet::hf_llava_unread(config, "v.") ==
        std::vector<std::string>{"v.post_layernorm.", "v.head.", "v.encoder.layers.1."});
  config.siglip = true;
  config.bias = false;
  const auto siglip = names();
  CHECK(holds(siglip, "talk.embed.eye.embed.patch.bias v.embeddings.patch_embedding.bias"));
  CHECK_FALSE(holds(siglip, "talk.embed.eye.embed.class v.embeddings.class_embedding"));
  CHECK_FALSE(holds(siglip, "talk.embed.glue.up.bias multi_modal_projector.linear_1.bias"));
}
