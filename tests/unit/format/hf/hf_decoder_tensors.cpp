// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_decoder_tensors.hpp>

#include <doctest/doctest.h>

#include <map>

namespace {

motet::hf_decoder_config small(const char* family, bool tied) {
  auto config = motet::read_hf_decoder_config(
      std::string(R"({"model_type": ")") + family +
          R"(", "vocab_size": 9, "hidden_size": 12, "intermediate_size": 7, "num_hidden_layers": 2,
        "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 4, "max_position_embeddings": 5})",
      "c");
  config.tied = tied;
  return config;
}
std::map<std::string, std::vector<motet::isize>> theirs(const motet::hf_decoder_config& config) {
  std::map<std::string, std::vector<motet::isize>> found;
  for (const auto& row : motet::hf_decoder_tensors(config))
    for (const auto& part : row.theirs) found.emplace(part.name, part.shape);
  return found;
}

}  // namespace

TEST_CASE("names and shapes are those of the transformers package") {
  // Qwen3ForCausalLM(config).state_dict() prints these for this configuration.
  const auto qwen3 = theirs(small("qwen3", false));
  const std::map<std::string, std::vector<motet::isize>> some{
      {"model.embed_tokens.weight", {9, 12}},
      {"model.layers.0.input_layernorm.weight", {12}},
      {"model.layers.0.self_attn.q_proj.weight", {24, 12}},
      {"model.layers.0.self_attn.k_proj.weight", {12, 12}},
      {"model.layers.0.self_attn.v_proj.weight", {12, 12}},
      {"model.layers.0.self_attn.o_proj.weight", {12, 24}},
      {"model.layers.0.self_attn.q_norm.weight", {4}},
      {"model.layers.1.self_attn.k_norm.weight", {4}},
      {"model.layers.1.post_attention_layernorm.weight", {12}},
      {"model.layers.1.mlp.gate_proj.weight", {7, 12}},
      {"model.layers.1.mlp.up_proj.weight", {7, 12}},
      {"model.layers.1.mlp.down_proj.weight", {12, 7}},
      {"model.norm.weight", {12}},
      {"lm_head.weight", {9, 12}}};
  for (const auto& [name, shape] : some) {
    CAPTURE(name);
    REQUIRE(qwen3.contains(name));
    CHECK(qwen3.at(name) == shape);
  }
  CHECK(qwen3.size() == 3 + 2 * 11);
  const auto qwen2 = theirs(small("qwen2", true));
  CHECK(qwen2.at("model.layers.0.self_attn.q_proj.bias") == std::vector<motet::isize>{24});
  CHECK_FALSE(qwen2.contains("model.layers.0.self_attn.o_proj.bias"));
  CHECK_FALSE(qwen2.contains("lm_head.weight"));
  for (const auto& row : motet::hf_decoder_tensors(small("qwen2", true)))
    CHECK(row.ours != "text.head.weight");
}

TEST_CASE("unequal parts of one tensor are told apart") {
  for (const auto& row : motet::hf_decoder_tensors(small("llama", false)))
    if (row.ours == "text.blocks.0.attention.qkv.weight") {
      CHECK(row.parts_text() == "1 x [24, 12] and 2 x [12, 12]");
      CHECK(row.elements() == 48 * 12);
    }
}
