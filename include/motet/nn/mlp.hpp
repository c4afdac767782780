// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/linear.hpp>

namespace motet {

// Widen, activate, narrow. Only the value before the activation is kept: backward needs the activation's slope there anyway, and the value after
// it comes out of the same evaluation.
template <index Width, index Hidden, activation Act = activation::gelu, bool Bias = true>
struct mlp {
  static constexpr index in = Width, out = Width;
  using widen = linear<Width, Hidden, Bias>;
  using narrow = linear<Hidden, Width, Bias>;
  static constexpr index narrow_at = widen::parameter_size;
  static constexpr index parameter_size = narrow_at + narrow::parameter_size;

  static void parameters(parameter_list& list) {
    list.child<widen>("up");
    list.child<narrow>("down");
  }

  template <class N>
  struct saved {
    view<typename N::value, Hidden> pre;    // (rows, hidden); the input part of backward turns it into the value after the activation
    view<typename N::value, Hidden> d_pre;  // (rows, hidden), between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.pre = ctx.memory.template take_rows<typename N::value, Hidden>(seq.rows());
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y, saved<N>& s) {
    const index mark = ctx.memory.mark();
    linear_forward(ctx, seq, activated(ctx, w, seq, x, s), narrow::weight(w.data + narrow_at), narrow::bias(w.data + narrow_at), y);
    release(ctx, mark);
  }
  template <class C, class N, class X, class R, class Y>
  static void forward_add(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<R, out> residual, view<Y, out> y, saved<N>& s) {
    const index mark = ctx.memory.mark();
    linear_forward(ctx, seq, activated(ctx, w, seq, x, s), narrow::weight(w.data + narrow_at), narrow::bias(w.data + narrow_at), residual, y);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy, view<DX, in> dx, saved<N>& s) {
    s.d_pre = ctx.memory.template take_rows<typename N::value, Hidden>(seq.rows());
    linear_backward_input(ctx, seq, dy, narrow::weight(w.data + narrow_at), Act, s.pre, s.pre, s.d_pre);
    linear_backward_input(ctx, seq, s.d_pre, widen::weight(w.data), dx);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N>, const sequences&, view<X, in> x, view<DY, out> dy, saved<N>& s, gradients<N> g) {
    linear_backward_weight(ctx, x, s.d_pre, widen::weight(g.data), widen::bias(g.data));
    const auto g_narrow = g.data + narrow_at;
    linear_backward_weight(ctx, s.pre, dy, narrow::weight(g_narrow), narrow::bias(g_narrow));
  }

 private:
  template <class C, class N, class X>
  static view<typename N::value, Hidden> activated(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, saved<N>& s) {
    const auto after = ctx.memory.template take_rows<typename N::value, Hidden>(seq.rows());  // (rows, hidden)
    linear_forward(ctx, seq, x, widen::weight(w.data), widen::bias(w.data), Act, s.pre, after);
    return after;
  }
};

}  // namespace motet
