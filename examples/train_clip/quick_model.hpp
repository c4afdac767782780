// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

namespace motet::train_clip {

// The towers of the quickstart: small enough to see some 25,000 pictures in a minute or three on two cores.
inline constexpr vit_config quick_picture{
    .image = 64, .patch = 8, .width = 128, .layers = 4, .heads = 4, .embedding = 128, .pre_norm = true};
inline constexpr text_config quick_caption{
    .vocabulary = 1024, .context = 32, .width = 128, .layers = 2, .heads = 4, .embedding = 128};

}  // namespace motet::train_clip
