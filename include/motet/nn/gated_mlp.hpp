// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/cut_rows.hpp>
#include <motet/nn/linear.hpp>

namespace motet {

// SwiGLU (Shazeer 2020): y = down(silu(gate(x)) * up(x)). One product makes gate and up side by side; only they are kept. Tensor parallelism cuts
// the hidden units.
template <index Width, index Hidden, bool Bias = true>
struct gated_mlp {
  static constexpr index in = Width, out = Width;
  using widen = linear<Width, 2 * Hidden, Bias>;
  using narrow = linear<Hidden, Width, Bias>;
  static constexpr index parameter_size = widen::parameter_size + narrow::parameter_size;
  static constexpr index hidden(tensor_cut cut) { return cut.share(Hidden).size(); }
  static constexpr index narrow_at(tensor_cut cut) { return widen::held_size(in, 2 * hidden(cut)); }
  static constexpr index size(tensor_cut cut) { return narrow_at(cut) + narrow::held_size(hidden(cut), out); }

  static void parameters(parameter_list& list) {
    const interval held = list.cut().share(Hidden);
    list.child_rows<widen>("gate_up", {held, {Hidden + held.begin, Hidden + held.end}});
    list.child_columns<narrow>("down", held);
  }

  template <class N>
  struct saved {
    matrix<typename N::value> pre;        // (rows, gate | up); the input part of backward turns it into its gradient
    matrix<typename N::value> gated;      // (rows, hidden), between the two parts of backward
    view<typename N::value, out> dy_all;  // (rows, width) of all members, likewise, where the layer is cut
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
    s.pre = cut_rows::take<typename N::value>(ctx, cut.whole() ? seq : rows_of_all(ctx), 2 * hidden(cut));
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y, saved<N>& s) {
    forward_add(ctx, w, seq, x, view<const Y, out>{}, y, s);
  }
  template <class C, class N, class X, class R, class Y>
  static void forward_add(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<R, out> residual, view<Y, out> y, saved<N>& s) {
    const index mark = ctx.memory.mark();
    if (w.cut.whole()) {
      linear_forward(ctx, seq, product(ctx, w, seq, x, s), narrow_weight(w), narrow_bias(w), residual, y);
    } else {
      const auto gated = product(ctx, w, rows_of_all(ctx), cut_rows::gather<typename N::value>(ctx, x), s);
      cut_rows::forward_sum(ctx, w.cut, gated, narrow_weight(w), narrow_bias(w), residual, y);
    }
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy, view<DX, in> dx, saved<N>& s) {
    if (w.cut.whole()) {
      slopes(ctx, w, seq, dy, s);
      linear_backward_input(ctx, seq, s.pre, widen_weight(w), dx);
    } else {
      s.dy_all = cut_rows::gather<typename N::value>(ctx, dy);
      slopes(ctx, w, rows_of_all(ctx), s.dy_all, s);
      cut_rows::backward_sum(ctx, s.pre, widen_weight(w), dx);
    }
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences&, view<X, in> x, view<DY, out> dy, saved<N>& s, gradients<N> g) {
    if (w.cut.whole()) {
      linear_backward_weight(ctx, x, s.pre, widen_weight(g), widen_bias(g));
      linear_backward_weight(ctx, s.gated, dy, narrow_weight(g), narrow_bias(g));
    } else {
      const index mark = ctx.memory.mark();
      linear_backward_weight(ctx, cut_rows::gather<typename N::value>(ctx, x), s.pre, widen_weight(g), widen_bias(g));
      linear_backward_weight(ctx, s.gated, s.dy_all, narrow_weight(g), nullptr);
      linear_backward_bias(ctx, dy, narrow_bias(g));
      release(ctx, mark);
    }
  }

 private:
  // Of weights or gradients.
  template <class W>
  static auto widen_weight(W w) {
    return widen::weight(w.data, in, 2 * hidden(w.cut));
  }
  template <class W>
  static auto widen_bias(W w) {
    return widen::bias(w.data, in, 2 * hidden(w.cut));
  }
  template <class W>
  static auto narrow_weight(W w) {
    return narrow::weight(w.data + narrow_at(w.cut), hidden(w.cut), out);
  }
  template <class W>
  static auto narrow_bias(W w) {
    return narrow::bias(w.data + narrow_at(w.cut), hidden(w.cut), out);
  }
  template <class C, class N, class X>
  static matrix<typename N::value> product(C& ctx, weights<N> w, const sequences& seq, matrix<X> x, saved<N>& s) {
    const auto gated = cut_rows::take<typename N::value>(ctx, seq, hidden(w.cut));  // (rows, hidden)
    linear_forward(ctx, seq, x, widen_weight(w), widen_bias(w), s.pre);
    swiglu_forward(ctx, seq, s.pre, gated);
    return gated;
  }
  // Turns s.pre into its gradient, and makes s.gated again.
  template <class C, class N, class DY>
  static void slopes(C& ctx, weights<N> w, const sequences& seq, matrix<DY> dy, saved<N>& s) {
    using value = typename N::value;
    s.gated = cut_rows::take<value>(ctx, seq, hidden(w.cut));
    const index mark = ctx.memory.mark();
    const auto d_gated = cut_rows::take<value>(ctx, seq, hidden(w.cut));
    swiglu_forward(ctx, seq, s.pre, s.gated);
    linear_backward_input(ctx, seq, dy, narrow_weight(w), d_gated);
    swiglu_backward(ctx, seq, s.pre, d_gated, s.pre);
    release(ctx, mark);
  }
};

}  // namespace motet
