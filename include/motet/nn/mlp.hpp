// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/cut_rows.hpp>
#include <motet/nn/linear.hpp>

namespace motet {

// Widen, activate, narrow. Only the value before the activation is kept: backward needs the activation's slope there anyway, and the value after
// it comes out of the same evaluation. Tensor parallelism cuts the hidden units.
template <index Width, index Hidden, activation Act = activation::gelu, bool Bias = true>
struct mlp {
  static constexpr index in = Width, out = Width;
  using widen = linear<Width, Hidden, Bias>;
  using narrow = linear<Hidden, Width, Bias>;
  static constexpr index parameter_size = widen::parameter_size + narrow::parameter_size;
  static constexpr index hidden(tensor_cut cut) { return cut.share(Hidden).size(); }
  static constexpr index narrow_at(tensor_cut cut) { return widen::held_size(in, hidden(cut)); }
  static constexpr index size(tensor_cut cut) { return narrow_at(cut) + narrow::held_size(hidden(cut), out); }

  static void parameters(parameter_list& list) {
    const interval held = list.cut().share(Hidden);
    list.child_rows<widen>("up", {held});
    list.child_columns<narrow>("down", held);
  }

  template <class N>
  struct saved {
    matrix<typename N::value> pre;        // (rows, hidden); the input part of backward turns it into the value after the activation
    matrix<typename N::value> d_pre;      // (rows, hidden), between the two parts of backward
    view<typename N::value, out> dy_all;  // (rows, width) of all members, likewise, where the layer is cut
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
    s.pre = cut_rows::take<typename N::value>(ctx, cut.whole() ? seq : rows_of_all(ctx), hidden(cut));
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y, saved<N>& s) {
    forward_add(ctx, w, seq, x, view<const Y, out>{}, y, s);
  }
  template <class C, class N, class X, class R, class Y>
  static void forward_add(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<R, out> residual, view<Y, out> y, saved<N>& s) {
    const index mark = ctx.memory.mark();
    if (w.cut.whole()) {
      linear_forward(ctx, seq, activated(ctx, w, seq, x, s), narrow_weight(w), narrow_bias(w), residual, y);
    } else {
      const auto after = activated(ctx, w, rows_of_all(ctx), cut_rows::gather<typename N::value>(ctx, x), s);
      cut_rows::forward_sum(ctx, w.cut, after, narrow_weight(w), narrow_bias(w), residual, y);
    }
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy, view<DX, in> dx, saved<N>& s) {
    using value = typename N::value;
    if (w.cut.whole()) {
      s.d_pre = cut_rows::take<value>(ctx, seq, Hidden);
      linear_backward_input(ctx, seq, dy, narrow_weight(w), Act, s.pre, s.pre, s.d_pre);
      linear_backward_input(ctx, seq, s.d_pre, widen_weight(w), dx);
    } else {
      const sequences all = rows_of_all(ctx);
      s.dy_all = cut_rows::gather<value>(ctx, dy);
      s.d_pre = cut_rows::take<value>(ctx, all, hidden(w.cut));
      linear_backward_input(ctx, all, s.dy_all, narrow_weight(w), Act, s.pre, s.pre, s.d_pre);
      cut_rows::backward_sum(ctx, s.d_pre, widen_weight(w), dx);
    }
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences&, view<X, in> x, view<DY, out> dy, saved<N>& s, gradients<N> g) {
    if (w.cut.whole()) {
      linear_backward_weight(ctx, x, s.d_pre, widen_weight(g), widen_bias(g));
      linear_backward_weight(ctx, s.pre, dy, narrow_weight(g), narrow_bias(g));
    } else {
      const index mark = ctx.memory.mark();
      linear_backward_weight(ctx, cut_rows::gather<typename N::value>(ctx, x), s.d_pre, widen_weight(g), widen_bias(g));
      linear_backward_weight(ctx, s.pre, s.dy_all, narrow_weight(g), nullptr);
      linear_backward_bias(ctx, dy, narrow_bias(g));
      release(ctx, mark);
    }
  }

 private:
  // Of weights or gradients.
  template <class W>
  static auto widen_weight(W w) {
    return widen::weight(w.data, in, hidden(w.cut));
  }
  template <class W>
  static auto widen_bias(W w) {
    return widen::bias(w.data, in, hidden(w.cut));
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
  static matrix<typename N::value> activated(C& ctx, weights<N> w, const sequences& seq, matrix<X> x, saved<N>& s) {
    const auto after = cut_rows::take<typename N::value>(ctx, seq, hidden(w.cut));  // (rows, hidden)
    linear_forward(ctx, seq, x, widen_weight(w), widen_bias(w), Act, s.pre, after);
    return after;
  }
};

}  // namespace motet
