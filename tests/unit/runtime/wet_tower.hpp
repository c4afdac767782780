// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/compose/residual.hpp>
#include <motet/nn/towers/text.hpp>

namespace {

using namespace motet;
using motet::isize;

// Dropout, for compilers that take no floating point number as a template argument.
struct drops {
  static constexpr isize in = 8, out = 8, parameter_size = 0;
  static void parameters(parameter_list&) {}
  template <class N>
  struct saved {};
  template <class N, class C>
  static void reserve(C&, const sequences&, saved<N>&) {}
  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N>, const sequences& seq, view<X, 8> x, view<Y, 8> y, saved<N>&) {
    dropout_apply(ctx, seq, 0.25, 77, x, y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N>, const sequences& seq, view<X, 8>, view<DY, 8> dy,
                             view<DX, 8> dx, saved<N>&) {
    dropout_apply(ctx, seq, 0.25, 77, dy, dx);
  }
};

// A tower whose blocks drop numbers.
struct wet_tower {
  static constexpr text_config config{
      .vocabulary = 20, .context = 6, .width = 8, .layers = 4, .heads = 1, .embedding = 8};
  static constexpr isize width = 8, layers = 4, embedding = 8;
  using embed = token_embedding<config.tokens()>;
  using input = tokens;
  using norm_layer = motet::norm<width, norm_config{norm_kind::layer, 1e-5f}>;
  using block = sequential<named<"mlp", residual<norm_layer, mlp<width, 16, activation::gelu>>>, drops>;
  using body = repeat<block, layers>;
  using tail = motet::tail<reduce_head<norm_layer, mean_pool<width>>, projection<width, embedding>>;
  static constexpr isize body_at = embed::parameter_size, tail_at = body_at + body::parameter_size;
  static constexpr isize parameter_size = tail_at + tail::parameter_size;
  using stage = tower_stage<wet_tower>;
  static void parameters(parameter_list& list) {
    list.child<embed>("embed");
    list.child<body>("blocks");
    tail::parameters(list);
  }
  static sequences rows(const input& batch) { return embed::rows(batch); }
  static constexpr stage_range whole{0, layers};
  template <class N>
  using saved = typename stage::template saved<N>;
  template <class N, class C>
  static void reserve(C& ctx, const input& batch, saved<N>& s) {
    stage::template reserve<N>(ctx, whole, batch, s);
  }
  template <class C, class N>
  static void forward(C& ctx, weights<N> w, const input& batch, view<typename N::stream, embedding> features,
                      saved<N>& s) {
    typename stage::template ends<N> e;
    e.features = features;
    stage::forward(ctx, whole, w, batch, e, s);
  }
  template <class C, class N>
  static void infer(C& ctx, weights<N> w, const input& batch, view<typename N::stream, embedding> features) {
    typename stage::template ends<N> e;
    e.features = features;
    stage::infer(ctx, whole, w, batch, e);
  }
  template <class C, class N>
  static void backward(C& ctx, weights<N> w, const input& batch,
                       view<typename N::stream, embedding> d_features, saved<N>& s, gradients<N> g) {
    typename stage::template ends<N> e;
    e.d_features = d_features;
    stage::backward(ctx, whole, w, batch, e, s, g);
  }
};

}  // namespace
