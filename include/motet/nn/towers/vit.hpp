// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/patch_embedding.hpp>
#include <motet/nn/towers/tower.hpp>

namespace motet {

// A vision transformer over pictures (Dosovitskiy et al., ICLR'21), as CLIP uses it.
struct vit_config {
  index image = 224;
  index patch = 16;
  index channels = 3;
  index width = 768;
  index layers = 12;
  index heads = 12;
  index kv_heads = 0;    // 0: as many as heads
  index head_width = 0;  // 0: width / heads
  index hidden = 0;      // 0: 4 x width
  index embedding = 512;
  activation act = activation::gelu;
  float epsilon = 1e-5f;
  pool_kind pool = pool_kind::first;
  position_kind position = position_kind::learned;
  bool patch_bias = false;
  bool pre_norm = false;
  norm_kind norm = norm_kind::layer;
  bool gated = false;                                         // SwiGLU instead of act
  bool recompute = false;                                     // keep only the input of each block
  context_attention context_kind = context_attention::heads;  // where context parallelism cuts samples
  // experts in the place of each mlp, for example {.experts = 8}
  mixture_config mix{};

  constexpr patch_config patches() const {
    return {image, patch, channels, width, pool == pool_kind::first, patch_bias, pre_norm, epsilon, position};
  }
  constexpr tower_config tower() const { return tower_config_of(*this, mask_kind::full, 0); }
};

constexpr verdict check(const vit_config& c) {
  if (const verdict found = check(c.patches()); !found.ok()) return found;
  return check(c.tower());
}

template <vit_config Config>
struct vit : tower<patch_embedding<Config.patches()>, Config.tower()> {
  static_assert(require<check(Config)>);
  static constexpr vit_config config = Config;
};

}  // namespace motet
