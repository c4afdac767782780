// SPDX-License-Identifier: Apache-2.0
#include <motet/format/files/atomic_file.hpp>
#include <motet/format/hf/hf_decoder.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

using motet::read_hf_decoder_config;

namespace {

std::string refusal(const char* text) {
  try {
    read_hf_decoder_config(text, "c");
    return "";
  } catch (const motet::error& problem) {
    return problem.what();
  }
}
bool contains(const std::string& said, std::string_view part) { return said.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("absent fields have the defaults of the transformers package") {
  const auto llama = read_hf_decoder_config(R"({"model_type": "llama"})", "c");
  CHECK(llama.vocabulary == 32000);
  CHECK(llama.context == 2048);
  CHECK(llama.width == 4096);
  CHECK(llama.hidden == 11008);
  CHECK(llama.layers == 32);
  CHECK(llama.kv_heads == 32);
  CHECK(llama.head_width == 128);
  CHECK(llama.epsilon == 1e-6);
  CHECK(llama.rotary == 10000);
  CHECK(llama.factor == 1);
  CHECK_FALSE((llama.bias || llama.out_bias || llama.mlp_bias || llama.head_norm || llama.tied));
  const auto qwen2 = read_hf_decoder_config(R"({"model_type": "qwen2", "num_attention_heads": 64})", "c");
  CHECK(qwen2.vocabulary == 151936);
  CHECK(qwen2.hidden == 22016);
  CHECK(qwen2.kv_heads == 32);
  CHECK((qwen2.bias && !qwen2.out_bias && !qwen2.head_norm));
  const auto qwen3 = read_hf_decoder_config(
      R"({"model_type": "qwen3", "hidden_size": 60, "num_key_value_heads": null})", "c");
  CHECK(qwen3.head_width == 128);
  CHECK(qwen3.kv_heads == 32);
  CHECK((qwen3.head_norm && !qwen3.bias));
}

TEST_CASE("turns are read from newer files and from older ones") {
  const auto newer = read_hf_decoder_config(
      R"({"model_type": "llama", "rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 32.0,
        "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})",
      "c");
  CHECK(newer.rotary == 5e5);
  CHECK(newer.factor == 32);
  CHECK(newer.trained == 8192);
  const auto older = read_hf_decoder_config(
      R"({"model_type": "llama", "rope_theta": 1000000, "rope_scaling": {"type": "linear", "factor": 2}})",
      "c");
  CHECK(older.rotary == 1e6);
  CHECK(older.factor == 2);
  CHECK(older.trained == 0);
  CHECK(read_hf_decoder_config(R"({"model_type": "llama", "rope_scaling": null})", "c").factor == 1);
}

TEST_CASE("what no net here computes is refused by name") {
  for (const auto& [text, part] : {
           std::pair(R"({"model_type": "gemma"})",
                     R"(c.model_type is "gemma"; offered are clip, llama, qwen2, qwen3, llava and whisper)"),
           std::pair(R"({"model_type": "llama", "hidden_act": "gelu"})",
                     R"(c.hidden_act is "gelu"; offered is silu)"),
           std::pair(R"({"model_type": "llama", "num_attention_heads": 3})",
                     "which does not divide hidden_size 4096"),
           std::pair(R"({"model_type": "llama", "num_key_value_heads": 5})",
                     "c.num_key_value_heads is 5, which does not divide num_attention_heads 32"),
           std::pair(R"({"model_type": "llama", "head_dim": 9})", "c.head_dim is 9: turns take pairs"),
           std::pair(R"({"model_type": "qwen2", "use_sliding_window": true})",
                     "c.use_sliding_window is true"),
           std::pair(R"({"model_type": "llama", "rope_parameters": {"rope_type": "yarn"}})",
                     R"(c: rope_parameters.rope_type is "yarn"; offered are default, linear and llama3)"),
           std::pair(R"({"model_type": "llama", "rope_scaling": {"type": "linear", "factor": 0.5}})",
                     "c: rope_scaling.factor is less than 1"),
           std::pair(R"({"model_type": "llama", "partial_rotary_factor": 0.5})",
                     "partial_rotary_factor is not 1"),
           std::pair(R"({"model_type": "llama", "rms_norm_eps": 2})",
                     "c.rms_norm_eps is not between 0 and 1"),
           std::pair(R"({"model_type": "llama", "rope_theta": -1})", "c.rope_theta is not positive"),
           std::pair(R"({"model_type": "llama", "attention_bias": 1})",
                     "c.attention_bias is not true or false"),
       }) {
    const std::string said = refusal(text);
    CAPTURE(said);
    CHECK(contains(said, part));
    CHECK(contains(said, "[MT-F13]"));
  }
}

TEST_CASE("a folder of a model is read by its config.json, which errors name") {
  const scratch folder;
  motet::write_file(folder / "config.json",
                    std::string_view(R"({"model_type": "qwen2", "hidden_size": 1024})"));
  CHECK(motet::read_hf_model_type(folder.path()) == "qwen2");
  CHECK(read_hf_decoder_config(folder.path()).width == 1024);
  motet::write_file(folder / "config.json",
                    std::string_view(R"({"model_type": "llama", "hidden_size": -1})"));
  const std::string name = (folder / "config.json").string();
  CHECK_THROWS_WITH_AS(read_hf_decoder_config(folder.path()), doctest::Contains(name.c_str()), motet::error);
}

TEST_CASE("the kind of a model is read without the rest") {
  CHECK(motet::read_hf_model_type("{}", "c") == "clip");
  CHECK(motet::read_hf_model_type(R"({"model_type": "qwen2", "hidden_size": -1})", "c") == "qwen2");
  CHECK(motet::is_hf_decoder("qwen3"));
  CHECK_FALSE(motet::is_hf_decoder("clip"));
}
