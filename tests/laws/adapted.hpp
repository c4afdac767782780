// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>

#include "layer_laws.hpp"

namespace motet::laws {

// What a layer or a net is beside weights that stay: its parameters are its adapters, so that the laws of
// layers are laws of these. The weights are drawn, rounded as bf16 holds them.
template <class L>
struct adapted : L {
  static constexpr isize parameter_size = L::adapter_size;
  static void parameters(parameter_list& list) {
    for (const parameter& each : layer::parameters_of<L>({}, {}, listed::adapters))
      list.matrix(each.name, each.rows, each.width, each.start);
  }
  template <class N>
  static weights<N> beside(weights<N> w) {
    static const auto base =
        narrowed<typename N::master>(in_bf16(random_weights(layer::parameters_of<L>(), L::parameter_size)));
    return {base.data(), w.cut, w.data};
  }
  template <class N>
  static gradients<N> beside(gradients<N> g) {
    return {nullptr, g.cut, g.data};
  }

  template <class C, class N, class... Of>
  static void forward(C& ctx, weights<N> w, Of&&... of) {
    L::forward(ctx, beside(w), of...);
  }
  template <class C, class N, class... Of>
    requires requires(C& c, weights<N> w, Of&&... of) { L::infer(c, w, of...); }
  static void infer(C& ctx, weights<N> w, Of&&... of) {
    L::infer(ctx, beside(w), of...);
  }
  template <class C, class N, class... Of>
  static void backward_input(C& ctx, weights<N> w, Of&&... of) {
    L::backward_input(ctx, beside(w), of...);
  }
  template <class C, class N, class S, class X, class DY, class Kept>
  static void backward_weight(C& ctx, weights<N> w, S& seq, X x, DY dy, Kept& s, gradients<N> g) {
    L::backward_weight(ctx, beside(w), seq, x, dy, s, beside(g));
  }
  template <class C, class N, class B, class D, class Kept>
  static void backward(C& ctx, weights<N> w, B& batch, D d, Kept& s, gradients<N> g) {
    L::backward(ctx, beside(w), batch, d, s, beside(g));
  }
};

}  // namespace motet::laws
