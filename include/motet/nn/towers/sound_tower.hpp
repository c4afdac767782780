// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/sound_embedding.hpp>
#include <motet/nn/towers/tower.hpp>

namespace motet {

// An encoder of sounds by its numbers, which are those of Whisper's tiny size where none is given.
struct sound_config {
  isize bins = 80;  // numbers of a frame
  isize frames = 3000;
  isize width = 384;
  isize layers = 4;
  isize heads = 6;
  isize kv_heads = 0;    // 0: as many as heads
  isize head_width = 0;  // 0: width / heads
  isize hidden = 0;      // 0: 4 x width
  isize embedding = 512;
  activation act = activation::gelu;
  float epsilon = 1e-5f;
  pool_kind pool = pool_kind::mean;
  norm_kind norm = norm_kind::layer;
  bool gated = false;                                         // SwiGLU instead of act
  bool recompute = false;                                     // keep only the input of each block
  context_attention context_kind = context_attention::heads;  // where context parallelism cuts samples
  mixture_config mix{};                                       // experts in the place of each mlp

  constexpr frame_config heard() const { return {bins, frames, width}; }
  constexpr tower_config tower() const { return tower_config_of(*this, mask_kind::full, 0); }
};

constexpr verdict check(const sound_config& c) {
  if (const verdict found = check(c.heard()); !found.ok()) return found;
  return check(c.tower());
}

// A transformer over sounds in Whisper's form, with one row of features for each: two convolutions, fixed
// positions, blocks of attention and an MLP, pooled.
// Asks for: sounds of `frames` frames of `bins` numbers each.
// Memory: of each block what its layers keep and (rows, width) between the blocks; with .recompute the latter
// alone; and (frames, width) twice for the convolutions.
// Errors: MT-N01, MT-N03, MT-N04, MT-N09, MT-N10, MT-N15
// Example:
//   using ear = sound_tower<sound_config{.bins = 16, .frames = 64, .width = 32, .layers = 2, .heads = 2}>;
//   static_assert(ear::width == 32 && ear::embedding == 512);
template <sound_config Config>
struct sound_tower : tower<sound_embedding<Config.heard()>, Config.tower()> {
  static_assert(require<check(Config)>);
  static constexpr sound_config config = Config;
};

}  // namespace motet
