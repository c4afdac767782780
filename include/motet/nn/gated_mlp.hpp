// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/linear.hpp>

namespace motet {

// SwiGLU (Shazeer 2020): y = down(silu(gate(x)) * up(x)). One product makes gate and up side by side; only they are kept.
template <index Width, index Hidden, bool Bias = true>
struct gated_mlp {
  static constexpr index in = Width, out = Width;
  using widen = linear<Width, 2 * Hidden, Bias>;
  using narrow = linear<Hidden, Width, Bias>;
  static constexpr index narrow_at = widen::parameter_size;
  static constexpr index parameter_size = narrow_at + narrow::parameter_size;

  static void parameters(parameter_list& list) {
    list.child<widen>("gate_up");
    list.child<narrow>("down");
  }

  template <class N>
  struct saved {
    view<typename N::value, 2 * Hidden> pre;  // (rows, gate | up); the input part of backward turns it into its gradient
    view<typename N::value, Hidden> gated;    // (rows, hidden), between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.pre = ctx.memory.template take_rows<typename N::value, 2 * Hidden>(seq.rows());
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y, saved<N>& s) {
    const index mark = ctx.memory.mark();
    linear_forward(ctx, seq, product(ctx, w, seq, x, s), narrow::weight(w.data + narrow_at), narrow::bias(w.data + narrow_at), y);
    release(ctx, mark);
  }
  template <class C, class N, class X, class R, class Y>
  static void forward_add(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<R, out> residual, view<Y, out> y, saved<N>& s) {
    const index mark = ctx.memory.mark();
    linear_forward(ctx, seq, product(ctx, w, seq, x, s), narrow::weight(w.data + narrow_at), narrow::bias(w.data + narrow_at), residual, y);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy, view<DX, in> dx, saved<N>& s) {
    s.gated = ctx.memory.template take_rows<typename N::value, Hidden>(seq.rows());
    const index mark = ctx.memory.mark();
    const auto d_gated = ctx.memory.template take_rows<typename N::value, Hidden>(seq.rows());
    swiglu_forward(ctx, seq, s.pre, s.gated);
    linear_backward_input(ctx, seq, dy, narrow::weight(w.data + narrow_at), d_gated);
    swiglu_backward(ctx, seq, s.pre, d_gated, s.pre);
    linear_backward_input(ctx, seq, s.pre, widen::weight(w.data), dx);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N>, const sequences&, view<X, in> x, view<DY, out> dy, saved<N>& s, gradients<N> g) {
    linear_backward_weight(ctx, x, s.pre, widen::weight(g.data), widen::bias(g.data));
    const auto g_narrow = g.data + narrow_at;
    linear_backward_weight(ctx, s.gated, dy, narrow::weight(g_narrow), narrow::bias(g_narrow));
  }

 private:
  template <class C, class N, class X>
  static view<typename N::value, Hidden> product(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, saved<N>& s) {
    const auto gated = ctx.memory.template take_rows<typename N::value, Hidden>(seq.rows());  // (rows, hidden)
    linear_forward(ctx, seq, x, widen::weight(w.data), widen::bias(w.data), s.pre);
    swiglu_forward(ctx, seq, s.pre, gated);
    return gated;
  }
};

}  // namespace motet
