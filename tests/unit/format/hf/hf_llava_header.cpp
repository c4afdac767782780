// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_llava_header.hpp>

#include <doctest/doctest.h>

TEST_CASE("the header holds the eye, the glue and the words") {
  const auto config = motet::read_hf_llava_config(
      R"({"model_type": "llava", "vision_config": {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 3,
        "num_attention_heads": 4, "image_size": 17, "patch_size": 4}, "text_config": {"hidden_size": 40, "num_attention_heads": 5,
        "vocab_size": 99, "num_hidden_layers": 2, "intermediate_size": 80, "max_position_embeddings": 50}})",
      "c");
  const std::string header = motet::hf_llava_header(config, "my_talk");
  for (const char* part :
       {"namespace my_talk {",
        "// Pictures have 17 pixels a side; whole patches cover these.\n    .image = 16,",
        "    .layers = 2,\n    .heads = 4,\n    .hidden = 96,\n    .act = motet::activation::quick_gelu,",
        "    .pool = motet::pool_kind::first,\n    .pre_norm = true,",
        "inline constexpr motet::decoder_config words_config{\n    .vocabulary = 99,\n    .context = 50,",
        "using eye = motet::picture_rows<eye_config, false>;",
        "motet::named<\"up\", motet::linear<48, 40, true, motet::activation::gelu>>",
        "motet::seeing_decoder<eye, glue, words_config, 3>"})
    CHECK_MESSAGE(header.find(part) != std::string::npos, part);
  const std::string larger = motet::hf_llava_header(config, "my_talk", 20);
  for (const char* part :
       {"    .image = 20,\n    .patch = 4,",
        "    .pool = motet::pool_kind::first,\n    .learned_image = 16,\n    .pre_norm = true,",
        "motet::seeing_decoder<eye, glue, words_config, 2>"})
    CHECK_MESSAGE(larger.find(part) != std::string::npos, part);
}
