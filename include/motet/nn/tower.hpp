// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/attention_pool.hpp>
#include <motet/nn/gated_mlp.hpp>
#include <motet/nn/mlp.hpp>
#include <motet/nn/pool.hpp>
#include <motet/nn/projection.hpp>
#include <motet/nn/recompute.hpp>
#include <motet/nn/repeat.hpp>
#include <motet/nn/sequential.hpp>

namespace motet {

struct tower_config {
  index width = 0;
  index layers = 0;
  attention_config attention{};
  index hidden = 0;
  activation act = activation::gelu;
  float epsilon = 1e-5f;
  pool_kind pool = pool_kind::first;
  index embedding = 0;  // width of the features
  norm_kind norm = norm_kind::layer;
  bool gated = false;      // SwiGLU instead of act
  bool recompute = false;  // keep only the input of each block
};

constexpr verdict check(const tower_config& c) {
  if (c.width <= 0 || c.layers <= 0 || c.hidden <= 0 || c.embedding <= 0)
    return {reason::not_positive, 2, c.layers < c.embedding ? c.layers : c.embedding, 1};
  return check(c.attention);
}

// An encoder with pre-norm transformer blocks: embedding, blocks, pooling, projection to unit rows. `Embed` says what its input is.
template <class Embed, tower_config Config>
struct tower {
  static_assert(require<check(Config)>);
  using input = typename Embed::input;
  static constexpr index width = Config.width, embedding = Config.embedding;
  using norm_layer = norm<width, norm_config{Config.norm, Config.epsilon}>;
  using attend = residual<norm_layer, self_attention<Config.attention>>;
  using mix_layer = std::conditional_t<Config.gated, gated_mlp<width, Config.hidden>, mlp<width, Config.hidden, Config.act>>;
  using block = sequential<named<"attention", attend>, named<"mlp", residual<norm_layer, mix_layer>>>;

  // Pooling that reads one row needs the last block for that row alone.
  static constexpr bool picks = Config.pool == pool_kind::first || Config.pool == pool_kind::last;
  // A picked query sees all keys; under a causal mask only the last one does.
  static constexpr bool picks_block =
      picks && Config.attention.rotary == 0 && (Config.pool == pool_kind::last || Config.attention.mask == mask_kind::full);
  static constexpr pick which = Config.pool == pool_kind::last ? pick::last : pick::first;
  using body = repeat<std::conditional_t<Config.recompute, recompute<block>, block>, Config.layers - (picks_block ? 1 : 0)>;
  static constexpr auto choose_head() {
    if constexpr (picks_block) return std::type_identity<picked_block_head<norm_layer, Config.attention, mix_layer, which, Config.layers - 1>>{};
    else if constexpr (picks) return std::type_identity<pick_head<norm_layer, which>>{};
    else if constexpr (Config.pool == pool_kind::mean) return std::type_identity<reduce_head<norm_layer, mean_pool<width>>>{};
    else return std::type_identity<reduce_head<norm_layer, attention_pool<pooled_attention()>>>{};
  }
  static constexpr attention_config pooled_attention() {
    attention_config c = Config.attention;
    c.mask = mask_kind::full;
    c.rotary = 0;
    return c;
  }
  using head = typename decltype(choose_head())::type;
  using project = projection<width, embedding>;

  static constexpr index body_at = Embed::parameter_size, head_at = body_at + body::parameter_size, project_at = head_at + head::parameter_size;
  static constexpr index parameter_size = project_at + project::parameter_size;

  static void parameters(parameter_list& list) {
    list.child<Embed>("embed");
    list.child<body>("blocks");
    head::parameters(list);
    list.child<project>("projection");
  }
  static sequences rows(const input& batch) { return Embed::rows(batch); }

  template <class N>
  struct saved {
    typename Embed::template saved<N> kept_embed;
    typename body::template saved<N> kept_body;
    typename head::template saved<N> kept_head;
    typename project::template saved<N> kept_project;
    view<typename N::stream, width> entry, top;  // (rows, width), before and after the blocks
    view<typename N::value, width> pooled;       // (samples, width)
  };
  template <class N, class C>
  static void reserve(C& ctx, const input& batch, saved<N>& s) {
    const sequences seq = rows(batch);
    Embed::template reserve<N>(ctx, seq, s.kept_embed);
    s.entry = ctx.memory.template take_rows<typename N::stream, width>(seq.rows());
    body::template reserve<N>(ctx, seq, s.kept_body);
    s.top = ctx.memory.template take_rows<typename N::stream, width>(seq.rows());
    head::template reserve<N>(ctx, seq, s.kept_head);
    s.pooled = ctx.memory.template take_rows<typename N::value, width>(seq.samples);
    project::template reserve<N>(ctx, seq.pooled(), s.kept_project);
  }

  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, embedding> features, saved<N>& s) {
    const sequences seq = rows(batch);
    {
      const auto part = enter(ctx, "embedding");
      Embed::forward(ctx, w, batch, s.entry, s.kept_embed);
    }
    const auto part = enter(ctx, "blocks");
    body::forward(ctx, w + body_at, seq, s.entry, s.top, s.kept_body);
    head::forward(ctx, w + head_at, seq, s.top, s.pooled, s.kept_head);
    hand_over(ctx, seq);
    project::forward(ctx, w + project_at, seq.pooled(), s.pooled, features, s.kept_project);
  }
  template <class C, class N>
  static void infer(C& ctx, weights<N> w, const input& batch, view<typename N::stream, embedding> features) {
    using stream = typename N::stream;
    const sequences seq = rows(batch);
    const index mark = ctx.memory.mark();
    const auto entry = ctx.memory.template take_rows<stream, width>(seq.rows());
    const auto top = ctx.memory.template take_rows<stream, width>(seq.rows());
    const auto pooled = ctx.memory.template take_rows<typename N::value, width>(seq.samples);
    {
      const auto part = enter(ctx, "embedding");
      const index embed_mark = ctx.memory.mark();
      typename Embed::template saved<N> s;
      Embed::template reserve<N>(ctx, seq, s);
      Embed::forward(ctx, w, batch, entry, s);
      release(ctx, embed_mark);
    }
    const auto part = enter(ctx, "blocks");
    layer::infer<body>(ctx, w + body_at, seq, entry, top);
    layer::infer<head>(ctx, w + head_at, seq, top, pooled);
    hand_over(ctx, seq);
    layer::infer<project>(ctx, w + project_at, seq.pooled(), pooled, features);
    release(ctx, mark);
  }
  template <class C, class N>
  static void backward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, embedding> d_features, saved<N>& s, gradients<N> g) {
    using stream = typename N::stream;
    const sequences seq = rows(batch);
    const index mark = ctx.memory.mark();
    const auto d_entry = ctx.memory.template take_rows<stream, width>(seq.rows());
    {
      const auto part = enter(ctx, "blocks");
      const index body_mark = ctx.memory.mark();
      const auto d_top = ctx.memory.template take_rows<stream, width>(seq.rows());
      const auto d_pooled = ctx.memory.template take_rows<stream, width>(seq.samples);
      layer::backward<project>(ctx, w + project_at, seq.pooled(), s.pooled, d_features, d_pooled, s.kept_project, g + project_at);
      layer::backward<head>(ctx, w + head_at, seq, s.top, d_pooled, d_top, s.kept_head, g + head_at);
      layer::backward<body>(ctx, w + body_at, seq, s.entry, d_top, d_entry, s.kept_body, g + body_at);
      release(ctx, body_mark);
    }
    const auto part = enter(ctx, "embedding");
    Embed::backward_input(ctx, w, batch, d_entry, s.kept_embed);
    synchronize(ctx);
    Embed::backward_weight(ctx, w, batch, d_entry, s.kept_embed, g);
    release(ctx, mark);
  }
};

}  // namespace motet
