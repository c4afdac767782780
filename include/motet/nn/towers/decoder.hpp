// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/tower.hpp>
#include <motet/nn/towers/vocabulary_tail.hpp>

namespace motet {

// A language model. The defaults are those of Llama; see docs/language.md for Qwen's.
struct decoder_config {
  isize vocabulary = 32000;
  isize context = 2048;  // the longest sample
  isize width = 512;
  isize layers = 8;
  isize heads = 8;
  isize kv_heads = 0;    // 0: as many as heads; fewer: grouped queries
  isize head_width = 0;  // 0: width / heads
  isize hidden = 0;      // 0: 4 x width
  activation act = activation::silu;
  bool gated = true;  // SwiGLU; else act
  norm_kind norm = norm_kind::rms;
  float epsilon = 1e-6f;
  float rotary = 10000;  // base of rotary positions; 0: learned positions
  rotary_scaling scaling{};
  bool bias = false, out_bias = true,
       mlp_bias = false;        // of queries, keys and values; behind attention; of mlps
  bool head_norm = false;       // of each head's queries and keys
  bool recompute = false;       // keep only the input of each block
  bool cut_vocabulary = false;  // tensor parallelism shares the table of tokens
  bool tied = false;            // the last product's matrix is that table
  float z_loss = 0;             // its weight, in the loss of each target
  context_attention context_kind = context_attention::heads;  // where context parallelism cuts samples
  mixture_config mix{};                                       // experts in the place of each mlp
  adapter_config adapters{};                                  // where there are any, they learn alone

  constexpr token_config tokens() const { return {vocabulary, context, width, rotary == 0, cut_vocabulary}; }
  constexpr tower_config tower() const {
    tower_config out;
    out.width = width;
    out.layers = layers;
    out.attention = {.width = width,
                     .heads = heads,
                     .kv_heads = kv_heads,
                     .head_width = head_width,
                     .mask = mask_kind::causal,
                     .rotary = rotary,
                     .bias = bias,
                     .context_kind = context_kind,
                     .out_bias = out_bias,
                     .head_norm = head_norm,
                     .head_epsilon = epsilon,
                     .scaling = scaling,
                     .adapters = adapters};
    out.hidden = hidden > 0 ? hidden : 4 * width;
    out.act = act;
    out.epsilon = epsilon;
    out.embedding = 1;
    out.norm = norm;
    out.gated = gated;
    out.recompute = recompute;
    out.mix = mix;
    out.mlp_bias = mlp_bias;
    out.adapters = adapters;
    return out;
  }
};

constexpr verdict check(const decoder_config& c) {
  if (!(c.z_loss >= 0 && c.z_loss < 1e9f))
    return {reason::z_loss_weight, 0,
            c.z_loss < 0 && c.z_loss > -1e9f ? static_cast<isize>(c.z_loss * 1e6f) : -1, 0};
  if (c.tied && c.cut_vocabulary) return {reason::tied_table_is_cut};
  if (const verdict found = check(c.tokens()); !found.ok()) return found;
  return check(c.tower());
}

namespace detail {

// Tokens with labels go in like tokens; the labels are for the tail.
template <token_config Config>
struct labelled_embedding : token_embedding<Config> {
  using input = labelled_tokens;
};
template <decoder_config Config>
using decoder_norm =
    resting_if<norm<Config.width, norm_config{Config.norm, Config.epsilon}>, Config.adapters.any()>;
template <decoder_config Config>
using decoder_tail =
    next_token_tail<decoder_norm<Config>, Config.vocabulary, z_loss{Config.z_loss}, Config.tied>;

}  // namespace detail

// A causal transformer over text that learns to say each next token. Its features are one number for each
// sample, which sum to the loss of the step (vocabulary_tail.hpp): its model is model<join<next_token, ...>>.
// Asks for: samples of at most `context` tokens, and a target for each row where something is asked.
// Memory: that of its blocks; normed rows and the slope of each row; logits of some rows at a time.
// Errors: MT-N01, MT-N03, MT-N04, MT-N06, MT-N16, MT-N17, MT-N25, MT-N27
// Example:
//   using talk = decoder<decoder_config{.vocabulary = 512, .context = 64, .width = 64, .layers = 2, .heads = 4}>;
//   static_assert(talk::embedding == 1);
template <decoder_config Config>
struct decoder
    : tower<detail::labelled_embedding<Config.tokens()>, Config.tower(), detail::decoder_tail<Config>> {
  static_assert(require<check(Config)>);
  static constexpr decoder_config config = Config;
  static constexpr bool own_loss = true;

  // This is the net with its weights, but its features are the logits of all rows: (rows, vocabulary).
  using logits = tower<token_embedding<Config.tokens()>, Config.tower(),
                       logits_tail<detail::decoder_norm<Config>, Config.vocabulary, Config.tied>>;
};

}  // namespace motet
