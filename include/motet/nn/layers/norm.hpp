// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>

namespace motet {

struct norm_config {
  norm_kind kind = norm_kind::layer;
  float epsilon = 1e-5f;
};

// Layer norm or RMS norm over the columns of each row, with a learned gain and, for layer norm, a learned
// bias.
// Asks for: rows of any width; `norm_kind::rms` has no bias.
// Memory: two numbers a row, mean and 1 / deviation, in the type of master weights.
// Errors: none of its own.
// Example:
//   using rms = norm<192, norm_config{.kind = norm_kind::rms, .epsilon = 1e-6f}>;
//   static_assert(!rms::has_bias && rms::parameter_size == 192);
template <isize Width, norm_config Config = norm_config{}>
struct norm {
  static constexpr isize in = Width, out = Width;
  static constexpr bool has_bias = Config.kind == norm_kind::layer;
  static constexpr isize bias_at = parameter_space(Width);
  static constexpr isize parameter_size = bias_at * (has_bias ? 2 : 1);

  static void parameters(parameter_list& list) {
    list.vector("weight", Width, {fill::ones, 1});
    if constexpr (has_bias) list.vector("bias", Width, {});
  }
  template <class M>
  static M* bias(M* data) {
    return has_bias ? data + bias_at : nullptr;
  }

  template <class N>
  struct saved {
    view<typename N::master, 2> stats;  // (rows, mean and 1 / deviation)
    matrix<typename N::master> sums;    // between the two parts of backward, see norm_sums
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.stats = ctx.memory.template take_rows<typename N::master, 2>(seq.rows());
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, Width> x, view<Y, Width> y,
                      saved<N>& s) {
    norm_forward(ctx, seq, Config.kind, x, w.data, bias(w.data), static_cast<double>(Config.epsilon), y,
                 s.stats);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, Width> x, view<DY, Width> dy,
                             view<DX, Width> dx, saved<N>& s) {
    reserve_backward(ctx, seq, s);
    backward_rows(ctx, w, seq, x, dy, matrix<const DX>{}, dx, {}, {}, s);
  }
  // A caller that gives memory back before the weight part goes in two steps.
  template <class C, class N>
  static void reserve_backward(C& ctx, const sequences& seq, saved<N>& s) {
    s.sums = norm_sums<typename N::master>(ctx, seq.rows(), Width);
  }
  // dx = residual + gradient, as the skip connection around a pre-norm branch costs no pass of its own. The
  // same rows give, where they are wanted, what forward made, and dx in the type of values.
  template <class C, class N, class X, class DY, class R, class DX>
  static void backward_rows(C& ctx, weights<N> w, const sequences& seq, view<X, Width> x, view<DY, Width> dy,
                            matrix<R> residual, view<DX, Width> dx, view<typename N::value, Width> normed,
                            view<typename N::value, Width> rounded, saved<N>& s) {
    const norm_also<typename N::value, typename N::master> also{normed, bias(w.data), rounded, s.sums};
    norm_backward_input(ctx, seq, Config.kind, x, w.data, s.stats, dy, residual, dx, also);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N>, const sequences&, view<X, Width> x, view<DY, Width> dy,
                              saved<N>& s, gradients<N> g) {
    norm_backward_weight(ctx, Config.kind, x, s.stats, dy, s.sums, g.data, bias(g.data));
  }
};

template <isize Width>
using layer_norm = norm<Width, norm_config{norm_kind::layer, 1e-5f}>;
template <isize Width>
using rms_norm = norm<Width, norm_config{norm_kind::rms, 1e-6f}>;

}  // namespace motet
