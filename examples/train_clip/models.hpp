// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "quick_model.hpp"

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

// The towers of every model by name. Each model is compiled in units of its own.
namespace motet::train_clip {

// The smallest model of the benchmarks.
inline constexpr vit_config tiny_picture{
    .image = 64, .patch = 8, .width = 192, .layers = 6, .heads = 3, .embedding = 128, .pre_norm = true};
inline constexpr text_config tiny_caption{
    .vocabulary = 1024, .context = 32, .width = 128, .layers = 4, .heads = 2, .embedding = 128};

// The model that the benchmarks compare most.
inline constexpr vit_config small_picture{
    .image = 64, .patch = 8, .width = 384, .layers = 12, .heads = 6, .embedding = 256, .pre_norm = true};
inline constexpr text_config small_caption{
    .vocabulary = 1024, .context = 32, .width = 256, .layers = 6, .heads = 4, .embedding = 256};

// CLIP ViT-B/16 with GELU.
inline constexpr vit_config b16_picture{
    .image = 224, .patch = 16, .width = 768, .layers = 12, .heads = 12, .embedding = 512, .pre_norm = true};
inline constexpr text_config b16_caption{
    .vocabulary = 49408, .context = 77, .width = 512, .layers = 12, .heads = 8, .embedding = 512};

// CLIP ViT-L/14 with GELU.
inline constexpr vit_config l14_picture{
    .image = 224, .patch = 14, .width = 1024, .layers = 24, .heads = 16, .embedding = 768, .pre_norm = true};
inline constexpr text_config l14_caption{
    .vocabulary = 49408, .context = 77, .width = 768, .layers = 12, .heads = 12, .embedding = 768};

}  // namespace motet::train_clip
