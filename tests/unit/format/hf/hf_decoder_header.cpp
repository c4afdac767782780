// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_decoder_header.hpp>

#include <doctest/doctest.h>

TEST_CASE("the header holds the configuration, field by field") {
  const auto config =
      motet::read_hf_decoder_config(R"({"model_type": "qwen3", "vocab_size": 99, "hidden_size": 40,
    "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 3, "head_dim": 8,
    "max_position_embeddings": 11, "rope_scaling": {"rope_type": "llama3", "factor": 8, "original_max_position_embeddings": 5},
    "tie_word_embeddings": true})",
                                    "c");
  CHECK(motet::hf_decoder_header(config, "my_talk") ==
        R"(// A language model in C++, made from its Hugging Face configuration by import_hf.
#pragma once

#include <motet/motet.hpp>

namespace my_talk {

inline constexpr motet::decoder_config text_config{
    .vocabulary = 99,
    .context = 11,
    .width = 40,
    .layers = 2,
    .heads = 6,
    .kv_heads = 3,
    .head_width = 8,
    .hidden = 96,
    .epsilon = 1e-06f,
    .rotary = 10000.0f,
    .scaling = {8.0f, 1.0f, 4.0f, 5},
    .bias = false,
    .out_bias = false,
    .mlp_bias = false,
    .head_norm = true,
    .tied = true,
};

using text = motet::module<"text", motet::decoder<text_config>>;
using model = motet::model<motet::join<motet::next_token, text>>;

}  // namespace my_talk
)");
}
