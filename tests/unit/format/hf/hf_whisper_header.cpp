// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_whisper_header.hpp>

#include <doctest/doctest.h>

TEST_CASE("the header holds the configuration, field by field") {
  const auto config =
      motet::read_hf_whisper_config(R"({"model_type": "whisper", "num_mel_bins": 128, "d_model": 40,
    "encoder_layers": 2, "encoder_attention_heads": 5, "encoder_ffn_dim": 96, "max_source_positions": 11})",
                                    "c");
  CHECK(motet::hf_whisper_header(config, "my_ear") ==
        R"(// Whisper's encoder in C++, made from its Hugging Face configuration by import_hf.
#pragma once

#include <motet/motet.hpp>
#include <motet/nn/towers/sound_rows.hpp>

namespace my_ear {

inline constexpr motet::sound_config ear_config{
    .bins = 128,
    .frames = 22,
    .width = 40,
    .layers = 2,
    .heads = 5,
    .hidden = 96,
    .act = motet::activation::gelu,
    .epsilon = 1e-05f,
};

using ear = motet::module<"ear", motet::sound_rows<ear_config>>;
// An encoder alone has no loss: it is a module for models of your own.
using model = ear;

}  // namespace my_ear
)");
}
