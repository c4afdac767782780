// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/describe/tower.hpp>

#include <type_traits>

namespace motet {

namespace detail {

constexpr tower_end end_of(pool_kind pool, bool picks_block) {
  switch (pool) {
    case pool_kind::mean: return tower_end::mean;
    case pool_kind::attention: return tower_end::attention;
    default: return picks_block ? tower_end::block_of_row : tower_end::row;
  }
}
constexpr void outline_input(tower_outline& out, const patch_config& c) {
  out.tokens = c.rows();
  out.patch = c.channels * c.patch * c.patch;
  out.positions = c.position == position_kind::learned;
  out.class_row = c.class_token;
  out.patch_bias = c.bias;
  out.pre_norm = c.pre_norm;
}
constexpr void outline_input(tower_outline& out, const token_config& c) {
  out.tokens = c.context;
  out.vocabulary = c.vocabulary;
  out.positions = c.position;
  out.cut_vocabulary = c.cut_vocabulary;
}

}  // namespace detail

// The outline is what the planner knows of a typed net: a vit or a text_tower. Text counts as samples of its
// longest length; where they are shorter, set `tokens`.
template <class Net>
constexpr tower_outline outline_of(label name) {
  static_assert(
      requires { Net::config.tower(); } &&
          (
              requires { Net::config.patches(); } || requires { Net::config.tokens(); }) &&
          requires { requires Net::layers == Net::config.tower().layers; },
      "motet: only a vit or a text_tower tells what it costs; describe other nets by a tower_outline of your "
      "own");
  constexpr tower_config own = Net::config.tower();
  tower_outline out;
  out.name = name;
  if constexpr (requires { Net::config.patches(); }) detail::outline_input(out, Net::config.patches());
  else detail::outline_input(out, Net::config.tokens());
  out.layers = own.layers;
  out.width = own.width;
  out.heads = own.attention.heads;
  out.key_heads = own.attention.kv_heads;
  out.head_width = own.attention.head_width;
  out.causal = own.attention.mask == mask_kind::causal;
  out.rotary = own.attention.rotary > 0;
  out.ring = own.attention.context_kind == context_attention::ring;
  out.hidden = own.hidden;
  out.gated = own.gated;
  if (own.has_experts()) {
    out.hidden = own.experts_of_block().hidden;
    out.experts = own.mix.experts;
    out.chosen = own.mix.top_k;
  }
  out.end = detail::end_of(own.pool, Net::picks_block);
  out.rms = own.norm == norm_kind::rms;
  out.embedding = own.embedding;
  return out;
}

template <class Module>
constexpr tower_outline tower_of() {
  tower_outline out = outline_of<typename Module::net>(Module::name);
  out.frozen = Module::frozen;
  return out;
}

// The towers of a typed model, in its order, with what check_plan() needs.
// Asks for: a model of nets that outline_of() knows: vit and text_tower, frozen or not.
// Memory: some numbers for each tower.
// Errors: none of its own.
// Example:
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using pair = model<join<info_nce, module<"left", eye>, module<"right", eye>>>;
//   const model_shape shape = model_shape_of<pair>("pair");
template <class Model>
constexpr model_shape model_shape_of(label name = "model") {
  model_shape out;
  out.name = name;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (out.towers.push(tower_of<typename Model::template module_at<I>>()), ...);
  }(std::make_index_sequence<Model::size>{});
  out.join = std::is_same_v<typename Model::loss, pairwise_sigmoid> ? label("sigmoid") : label("info_nce");
  return out;
}

}  // namespace motet
