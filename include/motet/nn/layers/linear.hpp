// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>

#include <cmath>

namespace motet {

// y = activation(x weight^T + bias), weight (Out, In).
// Starts: weights normal with deviation sqrt(1 / 2 In), so that rows keep about their size whatever the
// width; biases zero.
// Asks for: rows of width In.
// Memory: nothing without an activation; with one, (rows, Out) before it.
// Errors: MT-N04
// Example:
//   using widen = linear<192, 768, true, activation::gelu>;
//   static_assert(widen::in == 192 && widen::out == 768);
//   static_assert(widen::parameter_size == 192 * 768 + 768);
template <isize In, isize Out, bool Bias = true, activation Act = activation::none>
struct linear {
  static_assert(In > 0 && Out > 0, "motet: sizes of a net must be positive [MT-N04]");
  static constexpr isize in = In, out = Out;
  static constexpr bool spares_input_gradient = true;
  static constexpr isize bias_at = parameter_space(In * Out);
  static constexpr isize parameter_size = bias_at + (Bias ? parameter_space(Out) : 0);

  static void parameters(parameter_list& list) {
    list.matrix("weight", Out, In, {fill::normal, std::sqrt(0.5f / static_cast<float>(In))});
    if constexpr (Bias) list.vector("bias", Out, {});
  }
  // Inside a layer that is cut, a rank holds some outputs or some inputs of the product, which lie in memory
  // as if they were all.
  static constexpr isize held_size(isize inputs, isize outputs) {
    return parameter_space(inputs * outputs) + (Bias ? parameter_space(outputs) : 0);
  }
  template <class M>
  static matrix<M> weight(M* data, isize inputs = In, isize outputs = Out) {
    return {data, outputs, inputs, inputs};  // (out, in)
  }
  template <class M>
  static M* bias(M* data, isize inputs = In, isize outputs = Out) {
    return Bias ? data + parameter_space(inputs * outputs) : nullptr;
  }

  template <class N>
  struct saved {
    view<typename N::value, Out> pre;    // (rows, out), before the activation
    view<typename N::value, Out> d_pre;  // (rows, out), between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    if constexpr (Act != activation::none)
      s.pre = ctx.memory.template take_rows<typename N::value, Out>(seq.rows());
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, In> x, view<Y, Out> y,
                      saved<N>& s) {
    if constexpr (Act == activation::none) linear_forward(ctx, seq, x, weight(w.data), bias(w.data), y);
    else linear_forward(ctx, seq, x, weight(w.data), bias(w.data), Act, s.pre, y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, In>, view<DY, Out> dy,
                             view<DX, In> dx, saved<N>& s) {
    if constexpr (Act == activation::none) {
      if (dx) linear_backward_input(ctx, seq, dy, weight(w.data), dx);
    } else {
      s.d_pre = ctx.memory.template take_rows<typename N::value, Out>(seq.rows());
      activation_backward(ctx, seq, Act, s.pre, dy, s.d_pre);
      if (dx) linear_backward_input(ctx, seq, s.d_pre, weight(w.data), dx);
    }
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N>, const sequences&, view<X, In> x, view<DY, Out> dy,
                              saved<N>& s, gradients<N> g) {
    if constexpr (Act == activation::none) linear_backward_weight(ctx, x, dy, weight(g.data), bias(g.data));
    else linear_backward_weight(ctx, x, s.d_pre, weight(g.data), bias(g.data));
  }
};

}  // namespace motet
