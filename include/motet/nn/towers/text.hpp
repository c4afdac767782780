// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/token_embedding.hpp>
#include <motet/nn/towers/tower.hpp>

namespace motet {

// A causal text transformer by its numbers, which are those of CLIP's where none is given.
struct text_config {
  isize vocabulary = 49408;
  isize context = 77;
  isize width = 512;
  isize layers = 12;
  isize heads = 8;
  isize kv_heads = 0;    // 0: as many as heads
  isize head_width = 0;  // 0: width / heads
  isize hidden = 0;      // 0: 4 x width
  isize embedding = 512;
  activation act = activation::gelu;
  float epsilon = 1e-5f;
  pool_kind pool = pool_kind::last;
  mask_kind mask = mask_kind::causal;
  float rotary = 0;  // base of rotary positions; 0: learned positions
  norm_kind norm = norm_kind::layer;
  bool gated = false;      // SwiGLU instead of act
  bool recompute = false;  // keep only the input of each block
  // tensor parallelism shares the table of tokens too
  bool cut_vocabulary = false;
  context_attention context_kind = context_attention::heads;  // where context parallelism cuts samples
  // experts in the place of each mlp, for example {.experts = 8}
  mixture_config mix{};

  constexpr token_config tokens() const { return {vocabulary, context, width, rotary == 0, cut_vocabulary}; }
  constexpr tower_config tower() const { return tower_config_of(*this, mask, rotary); }
};

constexpr verdict check(const text_config& c) {
  if (const verdict found = check(c.tokens()); !found.ok()) return found;
  return check(c.tower());
}

// A causal text transformer that is read at its last token, as CLIP's (Radford et al., ICML'21). Samples end
// at their end token, so nothing after it is computed.
// Asks for: samples of one to `context` tokens below `vocabulary`; lengths differ, nothing is padded.
// Memory: of each block what its layers keep and (rows, width) between the blocks; with .recompute the latter
// alone.
// Errors: MT-N01, MT-N03, MT-N04, MT-N06, MT-N09, MT-N10
// Example:
//   using words = text_tower<text_config{.vocabulary = 512, .context = 32, .width = 64, .heads = 2}>;
//   static_assert(words::layers == 12 && words::embedding == 512);
template <text_config Config>
struct text_tower : tower<token_embedding<Config.tokens()>, Config.tower()> {
  static_assert(require<check(Config)>);
  static constexpr text_config config = Config;
};

}  // namespace motet
