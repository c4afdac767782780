// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/compose/recompute.hpp>
#include <motet/nn/compose/repeat.hpp>
#include <motet/nn/compose/resting.hpp>
#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/compose/stage.hpp>
#include <motet/nn/core/rules.hpp>
#include <motet/nn/layers/cross_attention.hpp>
#include <motet/nn/layers/gated_branch.hpp>
#include <motet/nn/layers/gated_mlp.hpp>
#include <motet/nn/layers/mixture.hpp>
#include <motet/nn/layers/mlp.hpp>
#include <motet/nn/layers/projection.hpp>
#include <motet/nn/towers/attention_pool.hpp>
#include <motet/nn/towers/pool.hpp>
#include <motet/nn/towers/tail.hpp>

namespace motet {

// Blocks and the tail of a tower by their numbers, whatever its embedding.
struct tower_config {
  isize width = 0;
  isize layers = 0;
  attention_config attention{};
  isize hidden = 0;
  activation act = activation::gelu;
  float epsilon = 1e-5f;
  pool_kind pool = pool_kind::first;
  isize embedding = 0;  // width of the features
  norm_kind norm = norm_kind::layer;
  bool gated = false;      // SwiGLU instead of act
  bool recompute = false;  // keep only the input of each block, in every run
  // experts in the place of each mlp; width and, where not given, hidden, act and gated are the tower's
  mixture_config mix{};
  bool mlp_bias = true;
  // where there are any, they learn alone; those of attention are told there, too
  adapter_config adapters{};
  isize beside = 0;           // blocks also look at rows of another module, which are so wide; 0: at none
  isize beside_every = 1;     // the last one of every so many does
  bool beside_gated = false;  // what it sees passes a gate

  constexpr bool has_experts() const { return mix.experts > 0; }
  constexpr mixture_config experts_of_block() const {
    mixture_config c = mix;
    c.width = width;
    if (c.hidden == 0) c.hidden = hidden;
    c.act = act;
    c.gated = gated;
    return c;
  }
};

// Configs of nets have these in common, under the same names.
template <class Config>
constexpr tower_config tower_config_of(const Config& c, mask_kind mask, float rotary) {
  return {c.width,
          c.layers,
          {c.width, c.heads, c.kv_heads, c.head_width, mask, rotary, true, c.context_kind},
          c.hidden > 0 ? c.hidden : 4 * c.width,
          c.act,
          c.epsilon,
          c.pool,
          c.embedding,
          c.norm,
          c.gated,
          c.recompute,
          c.mix,
          true};
}

constexpr verdict check(const tower_config& c) {
  if (const verdict found = at_least(1, {c.width, c.layers, c.hidden, c.embedding}); !found.ok())
    return found;
  if (const verdict found = check(c.adapters, c.gated && !c.has_experts()); !found.ok()) return found;
  if (c.has_experts())
    if (const verdict found = check(c.experts_of_block()); !found.ok()) return found;
  if (c.beside_every < 1 || c.layers % c.beside_every != 0)
    return {reason::looking_blocks, 0, c.beside_every, c.layers};
  return check(c.attention);
}

namespace detail {

// Every embedding has these, whatever it runs on; the compiler names what is missing.
template <class E>
consteval bool has_members_of_embedding() {
  static_assert(
      requires { typename E::input; },
      "motet: the embedding of a tower lacks input, the type of its batches [MT-N11]");
  static_assert(
      requires { isize{E::out}; },
      "motet: the embedding of a tower lacks out, the width of its rows [MT-N11]");
  static_assert(
      requires { isize{E::parameter_size}; },
      "motet: the embedding of a tower lacks parameter_size, the elements of its parameters [MT-N11]");
  static_assert(
      requires(parameter_list& list) { E::parameters(list); },
      "motet: the embedding of a tower lacks parameters(list), their names and shapes [MT-N11]");
  static_assert(
      requires(const typename E::input& batch) { sequences{E::rows(batch)}; },
      "motet: the embedding of a tower lacks rows(batch), the sequences of its samples [MT-N11]");
  static_assert(
      requires { typename E::template saved<fp32>; },
      "motet: the embedding of a tower lacks saved<N>, what backward reads [MT-N11]");
  return true;
}

}  // namespace detail

// Pre-norm transformer blocks between an embedding, which says what the input is, and a tail, which makes one
// row of features for each sample: without one of its own, pooling and a projection to unit rows, as an
// encoder has it. How it runs, whole or in pipeline stages, is said once, in stage.hpp.
// Asks for: an embedding with the members that docs/your_tower.md lists, as wide as the config says.
// Memory: of each block what its layers keep and (rows, width) between the blocks; with .recompute the latter
// alone.
// Errors: MT-N01, MT-N03, MT-N04, MT-N05, MT-N06, MT-N09, MT-N10, MT-N11, MT-N17, MT-N25
// Example:
//   #include <motet/nn/layers/token_embedding.hpp>
//   constexpr tower_config shape{
//       .width = 64, .layers = 2, .attention = {.width = 64, .heads = 2}, .hidden = 256, .embedding = 32};
//   using words = tower<token_embedding<token_config{.vocabulary = 300, .context = 16, .width = 64}>, shape>;
//   static_assert(words::embedding == 32 && words::layers == 2);
template <class Embed, tower_config Config, class Tail = void>
struct tower {
  static_assert(require<check(Config)>);
  static_assert(detail::has_members_of_embedding<Embed>());
  static_assert(require < Embed::out == Config.width
                    ? verdict{}
                    : verdict{reason::widths_do_not_chain, 0, Config.width, Embed::out} >);
  static constexpr bool adapted = Config.adapters.any();
  static_assert(require < adapted && std::is_void_v<Tail> ? verdict{reason::adapters_do_not_fit, 4, 1, 0}
                                                          : verdict{} >);
  using embed = resting_if<Embed, adapted>;
  using input = typename embed::input;
  static constexpr bool looks_beside = Config.beside > 0;
  // Blocks are alike: where some look beside and others do not, so many of them are one.
  static constexpr isize joined = looks_beside ? Config.beside_every : 1;
  static constexpr isize width = Config.width, layers = Config.layers / joined;
  static constexpr isize embedding = [] {
    if constexpr (std::is_void_v<Tail>) return Config.embedding;
    else return Tail::out;
  }();
  using norm_layer = resting_if<norm<width, norm_config{Config.norm, Config.epsilon}>, adapted>;
  using attend = residual<norm_layer, self_attention<Config.attention>>;
  static constexpr auto choose_mix() {
    if constexpr (Config.has_experts())
      return std::type_identity<resting_if<mixture<Config.experts_of_block()>, adapted>>{};
    else if constexpr (Config.gated)
      return std::type_identity<gated_mlp<width, Config.hidden, Config.mlp_bias, Config.adapters>>{};
    else
      return std::type_identity<
          resting_if<mlp<width, Config.hidden, Config.act, Config.mlp_bias>, adapted>>{};
  }
  using mix_layer = typename decltype(choose_mix())::type;
  static constexpr attention_config pooled_attention() {
    attention_config c = Config.attention;
    c.mask = mask_kind::full;
    c.rotary = 0;
    return c;
  }
  // Rows of another module have no positions in common with those that look at them.
  static constexpr attention_config attention_beside() {
    attention_config c = pooled_attention();
    c.head_norm = false;
    c.adapters = {};
    return c;
  }
  using plain_block = sequential<named<"attention", attend>, named<"mlp", residual<norm_layer, mix_layer>>>;
  static constexpr auto choose_block() {
    if constexpr (looks_beside) {
      using seen = cross_attention<attention_beside(), Config.beside>;
      using look =
          residual<norm_layer,
                   resting_if<std::conditional_t<Config.beside_gated, gated_branch<seen>, seen>, adapted>>;
      using looking = sequential<named<"attention", attend>, named<"cross", look>,
                                 named<"mlp", residual<norm_layer, mix_layer>>>;
      if constexpr (joined == 1) return std::type_identity<looking>{};
      else
        return std::type_identity<
            sequential<named<"plain", repeat<plain_block, joined - 1, false>>, named<"looking", looking>>>{};
    } else {
      return std::type_identity<plain_block>{};
    }
  }
  using block = typename decltype(choose_block())::type;

  // Context parallelism cuts samples so: under a causal mask the ranks of a ring have equal work with two
  // pieces each.
  static constexpr bool balanced_rows =
      Config.attention.mask == mask_kind::causal && Config.attention.context_kind == context_attention::ring;

  // Pooling that reads one row needs the last block for that row alone. A router is balanced over all rows of
  // a sample.
  static constexpr bool picks =
      std::is_void_v<Tail> && (Config.pool == pool_kind::first || Config.pool == pool_kind::last);
  // A picked query sees all keys; under a causal mask only the last one does.
  static constexpr bool picks_block =
      picks && !Config.has_experts() && Config.attention.rotary == 0 &&
      (Config.pool == pool_kind::last || Config.attention.mask == mask_kind::full);
  static constexpr pick which = Config.pool == pool_kind::last ? pick::last : pick::first;
  using body = repeat<recompute<block, Config.recompute ? recomputed::always : recomputed::when_asked>,
                      layers - (picks_block ? 1 : 0)>;
  static constexpr auto choose_head() {
    if constexpr (picks_block)
      return std::type_identity<
          picked_block_head<norm_layer, Config.attention, mix_layer, which, layers - 1>>{};
    else if constexpr (picks) return std::type_identity<pick_head<norm_layer, which>>{};
    else if constexpr (Config.pool == pool_kind::mean)
      return std::type_identity<reduce_head<norm_layer, mean_pool<width>>>{};
    else return std::type_identity<reduce_head<norm_layer, attention_pool<pooled_attention()>>>{};
  }
  static constexpr auto choose_tail() {
    if constexpr (std::is_void_v<Tail>)
      return std::type_identity<
          motet::tail<typename decltype(choose_head())::type, projection<width, embedding>>>{};
    else return std::type_identity<resting_if<Tail, adapted>>{};
  }
  using tail = typename decltype(choose_tail())::type;

  static constexpr isize body_at = embed::parameter_size, tail_at = body_at + body::parameter_size;
  static constexpr isize parameter_size = tail_at + tail::parameter_size;
  static constexpr isize adapter_size = body::adapter_size;
  // What of rows is dropped follows from their numbers in the step, which are those of whole samples.
  static constexpr bool drops_by_rows = Config.adapters.dropout > 0;
  static constexpr double adapter_scale = adapted ? Config.adapters.scale() : 0;

  static constexpr isize size(tensor_cut cut) { return stage::parameter_end(whole, cut); }

  static void parameters(parameter_list& list) {
    list.in_block(parameter::before_blocks, [&] { list.child<embed>("embed"); });
    list.child<body>("blocks");
    list.part<tail>();
  }
  static sequences rows(const input& batch) { return embed::rows(batch); }

  // The whole tower is the stage of all blocks.
  using stage = tower_stage<tower>;
  static constexpr stage_range whole{0, layers};
  template <class N>
  using saved = typename stage::template saved<N>;

  template <class N, class C>
  static void reserve(C& ctx, const input& batch, saved<N>& s, tensor_cut cut = {}) {
    stage::template reserve<N>(ctx, whole, batch, s, cut);
  }
  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch,
                      view<typename stage::template feature_of<N>, embedding> features, saved<N>& s) {
    stage::forward(ctx, whole, w, batch, {.features = features}, s);
  }
  template <class C, class N>
  static void infer(C& ctx, weights<N> w, const input& batch,
                    view<typename stage::template feature_of<N>, embedding> features) {
    stage::infer(ctx, whole, w, batch, {.features = features});
  }
  template <class C, class N>
  static void backward(C& ctx, weights<N> w, const input& batch,
                       view<typename stage::template feature_of<N>, embedding> d_features, saved<N>& s,
                       gradients<N> g) {
    stage::backward(ctx, whole, w, batch, {.d_features = d_features}, s, g);
  }
};

}  // namespace motet
