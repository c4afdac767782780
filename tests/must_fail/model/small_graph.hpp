// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/graph.hpp>
#include <motet/nn/towers/fed_decoder.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/nn/towers/vit_rows.hpp>

using namespace motet;

inline constexpr vit_config sight{.image = 16, .patch = 8, .width = 16, .layers = 1, .heads = 2};
inline constexpr decoder_config words{.vocabulary = 64, .context = 8, .width = 32, .layers = 1, .heads = 2};
using eye = module<"eye", vit_rows<sight>>;
using glue = module<"glue", projector<16, 32>>;
using talk = module<"talk", fed_decoder<words>>;
