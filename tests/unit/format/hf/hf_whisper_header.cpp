// SPDX-License-Identifier: Apache-2.0
#include <motet/format/hf/hf_whisper_header.hpp>

#include <doctest/doctest.h>

TEST_CASE("the header holds the configuration, field by field") {
  const auto config =
      motet::read_hf_whisper_config(R"({"model_type": "whisper", "num_mel_bins": 128, "d_model": 40,
    "encoder_layers": 2, "encoder_attention_heads": 5, "encoder_ffn_dim": 96, "max_source_positions": 11,
    "decoder_layers": 3, "decoder_attention_heads": 4, "decoder_ffn_dim": 72, "max_target_positions": 9,
    "vocab_size": 31})",
                                    "c");
  CHECK(motet::hf_whisper_header(config, "my_ear") ==
        R"(// Whisper in C++, made from its Hugging Face configuration by import_hf.
#pragma once

#include <motet/motet.hpp>
#include <motet/nn/towers/cross_decoder.hpp>
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
inline constexpr motet::decoder_config words_config{
    .vocabulary = 31,
    .context = 9,
    .width = 40,
    .layers = 3,
    .heads = 4,
    .hidden = 72,
    .act = motet::activation::gelu,
    .gated = false,
    .norm = motet::norm_kind::layer,
    .epsilon = 1e-05f,
    .rotary = 0,
    .bias = true,
    .mlp_bias = true,
    .tied = true,
};

using ear = motet::module<"ear", motet::sound_rows<ear_config>>;
using talk = motet::module<"talk", motet::cross_decoder<words_config, 40, 11>>;
using model = motet::model<motet::modules<ear, talk>, motet::edge<"ear", "talk">,
                           motet::loss<motet::next_token, "talk">>;

}  // namespace my_ear
)");
}
