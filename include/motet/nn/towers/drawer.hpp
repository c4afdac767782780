// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/compose/adaptive.hpp>
#include <motet/nn/compose/recompute.hpp>
#include <motet/nn/compose/repeat.hpp>
#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/compose/stage.hpp>
#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/mlp.hpp>
#include <motet/nn/towers/denoise_tail.hpp>

namespace motet {

// A net that draws, by its numbers, which are those of DiT-S/2 on latents of ImageNet where none is given.
struct drawer_config {
  isize image = 32;
  isize patch = 2;
  isize channels = 4;
  isize width = 384;
  isize layers = 12;
  isize heads = 6;
  isize hidden = 0;        // 0: 4 x width
  isize classes = 1000;    // 0: nothing is told of a picture but its time
  float forgotten = 0.1f;  // of so many pictures the class is not told while learning
  activation act = activation::gelu_tanh;
  bool recompute = false;  // keep only the input of each block

  constexpr noised_config noised() const { return {image, patch, channels, width, classes, forgotten}; }
  constexpr attention_config attention() const { return {.width = width, .heads = heads}; }
  constexpr isize hidden_units() const { return hidden > 0 ? hidden : 4 * width; }
};

constexpr verdict check(const drawer_config& c) {
  if (const verdict found = at_least(1, {c.layers}); !found.ok()) return found;
  if (const verdict found = at_least(0, {c.hidden}); !found.ok()) return found;
  if (const verdict found = check(c.noised()); !found.ok()) return found;
  return check(c.attention());
}

namespace detail {

// Blocks whose rows follow a condition, between pictures and one of two ends.
template <drawer_config Config, class Tail, class Embed = noised_pictures<Config.noised()>>
struct drawing_tower {
  using embed = Embed;
  using input = typename embed::input;
  static constexpr isize width = Config.width, layers = Config.layers, embedding = Tail::out;
  using block = sequential<named<"attention", adaptive<self_attention<Config.attention()>>>,
                           named<"mlp", adaptive<mlp<width, Config.hidden_units(), Config.act>>>>;
  using body =
      repeat<motet::recompute<block, Config.recompute ? recomputed::always : recomputed::when_asked>, layers>;
  using tail = Tail;
  static constexpr bool balanced_rows = false;
  static constexpr isize parameter_size = embed::parameter_size + body::parameter_size + tail::parameter_size;

  static void parameters(parameter_list& list) {
    list.in_block(parameter::before_blocks, [&] { list.child<embed>("embed"); });
    list.child<body>("blocks");
    list.part<tail>();
  }
  static sequences rows(const input& batch) { return embed::rows(batch); }

  // The whole tower is the stage of all blocks.
  using stage = tower_stage<drawing_tower>;
  static constexpr stage_range whole{0, layers};
  template <class N>
  using saved = typename stage::template saved<N>;
  template <class N>
  using features_of = view<typename stage::template feature_of<N>, embedding>;

  template <class N, class C>
  static void reserve(C& ctx, const input& batch, saved<N>& s, tensor_cut cut = {}) {
    stage::template reserve<N>(ctx, whole, batch, s, cut);
  }
  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, features_of<N> features, saved<N>& s) {
    stage::forward(ctx, whole, w, batch, {.features = features}, s);
  }
  template <class C, class N>
  static void infer(C& ctx, weights<N> w, const input& batch, features_of<N> features) {
    stage::infer(ctx, whole, w, batch, {.features = features});
  }
  template <class C, class N>
  static void backward(C& ctx, weights<N> w, const input& batch, features_of<N> d_features, saved<N>& s,
                       gradients<N> g) {
    stage::backward(ctx, whole, w, batch, {.d_features = d_features}, s, g);
  }
};

}  // namespace detail

// A diffusion transformer (DiT with adaLN-zero, Peebles and Xie, ICCV'23) that learns by rectified flow (Liu
// et al., ICLR'23): between a picture and noise there is a straight line, and the net says its direction at
// any point. Its features are one number for each picture, which sum to the loss of the step
// (denoise_tail.hpp): its model is model<join<denoise, module<"draw", ...>>>.
// Asks for: pictures of one size as numbers, or of any size as bytes, with their classes; a patch that
// divides the side.
// Memory: that of its blocks, (rows, width) between them, and how far each number is off.
// Errors: MT-N01, MT-N02, MT-N04, MT-N07, MT-N19, MT-N20
// Example:
//   constexpr drawer_config little{.image = 32, .patch = 4, .channels = 3, .width = 64, .layers = 2, .heads = 2,
//                                  .classes = 10};
//   static_assert(drawer<little>::embedding == 1);
template <drawer_config Config>
struct drawer : detail::drawing_tower<Config, denoise_tail<Config.noised()>> {
  static_assert(require<check(Config)>);
  static constexpr drawer_config config = Config;
  static constexpr bool own_loss = true, draws = true;

  // This is the net with its weights, but its features are what it says of each number: (pictures x patches,
  // numbers of a patch).
  using velocity = detail::drawing_tower<Config, velocity_tail<Config.noised()>>;
};

}  // namespace motet
