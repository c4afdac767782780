// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/patch_embedding.hpp>
#include <motet/nn/towers/tower.hpp>

namespace motet {

// A vision transformer by its numbers, which are those of CLIP's base size where none is given.
struct vit_config {
  isize image = 224;
  isize patch = 16;
  isize channels = 3;
  isize width = 768;
  isize layers = 12;
  isize heads = 12;
  isize kv_heads = 0;    // 0: as many as heads
  isize head_width = 0;  // 0: width / heads
  isize hidden = 0;      // 0: 4 x width
  isize embedding = 512;
  activation act = activation::gelu;
  float epsilon = 1e-5f;
  pool_kind pool = pool_kind::first;
  position_kind position = position_kind::learned;
  isize learned_image = 0;  // positions are a table for pictures of this side, and interpolated; 0: image
  // Pictures have any height and width of at most so many patches; `image` tells the grid of positions, which
  // are interpolated to that of each picture. 0: squares of `image`
  isize most_patches = 0;
  bool patch_bias = false;
  bool pre_norm = false;
  norm_kind norm = norm_kind::layer;
  bool gated = false;                                         // SwiGLU instead of act
  bool recompute = false;                                     // keep only the input of each block
  context_attention context_kind = context_attention::heads;  // where context parallelism cuts samples
  // experts in the place of each mlp, for example {.experts = 8}
  mixture_config mix{};

  constexpr patch_config patches() const {
    return {image,   patch,    channels,      width,       pool == pool_kind::first, patch_bias, pre_norm,
            epsilon, position, learned_image, most_patches};
  }
  constexpr tower_config tower() const { return tower_config_of(*this, mask_kind::full, 0); }
};

constexpr verdict check(const vit_config& c) {
  if (const verdict found = check(c.patches()); !found.ok()) return found;
  return check(c.tower());
}

// A vision transformer over pictures (Dosovitskiy et al., ICLR'21), as CLIP uses it: patches, blocks of
// attention and an MLP, one row of features for each picture.
// Asks for: pictures of one size as numbers, or of any size as bytes; a patch that divides the side.
// Memory: of each block what its layers keep and (rows, width) between the blocks; with .recompute the latter
// alone.
// Errors: MT-N01, MT-N02, MT-N03, MT-N04, MT-N07, MT-N09, MT-N10, MT-N28, MT-N29,
// MT-N32, MT-N33
// Example:
//   using eye = vit<vit_config{.image = 64, .patch = 8, .width = 192, .layers = 4, .heads = 3}>;
//   static_assert(eye::width == 192 && eye::embedding == 512);
template <vit_config Config>
struct vit : tower<patch_embedding<Config.patches()>, Config.tower()> {
  static_assert(require<check(Config)>);
  static constexpr vit_config config = Config;
};

}  // namespace motet
