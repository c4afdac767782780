// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/kept_outputs.hpp>
#include <motet/nn/layers/mlp_products.hpp>

namespace motet {

// Widen, activate, narrow. Only the value before the activation is kept: backward needs the activation's
// slope there anyway, and the value after it comes out of the same evaluation, unless outputs are kept
// (kept_outputs.hpp). Tensor parallelism cuts the hidden units.
// Asks for: rows of any width.
// Memory: (rows, Hidden) before the activation, as much again where outputs are kept; a tensor member its
// share of the hidden units.
// Errors: MT-N04
// Example:
//   using wide = mlp<192, 4 * 192, activation::gelu_tanh>;
//   static_assert(wide::in == 192 && wide::out == 192);
template <isize Width, isize Hidden, activation Act = activation::gelu, bool Bias = true>
struct mlp : mlp_products<Width, Hidden, 1, Bias> {
  using products = mlp_products<Width, Hidden, 1, Bias>;
  using products::hidden, products::in, products::out;

  static void parameters(parameter_list& list) { products::list_products(list, "up", "down"); }

  template <class N>
  struct saved {
    matrix<typename N::value> pre;  // (rows, hidden)
    // (rows, hidden) after the activation: kept from forward, or the memory of pre from the input part of
    // backward on
    matrix<typename N::value> after;
    matrix<typename N::value> d_pre;      // (rows, hidden), between the two parts of backward
    view<typename N::value, out> dy_all;  // (rows, width) of all members, likewise, where the layer is cut
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
    const sequences rows = cut.whole() ? seq : rows_of_all(ctx);
    s.pre = cut_rows::take<typename N::value>(ctx, rows, hidden(cut));
    if (keeps_outputs(ctx)) s.after = cut_rows::take<typename N::value>(ctx, rows, hidden(cut));
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    forward_add(ctx, w, seq, x, view<const Y, out>{}, y, s);
  }
  template <class C, class N, class X, class R, class Y>
  static void forward_add(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<R, out> residual,
                          view<Y, out> y, saved<N>& s) {
    products::add_narrowed(ctx, w, seq, x, residual, y, [&](const sequences& rows, auto&& widened) {
      return activated(ctx, w, rows, widened, s);
    });
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    using value = typename N::value;
    matrix<value> again;
    if (!keeps_outputs(ctx)) s.after = again = s.pre;
    if (w.cut.whole()) {
      s.d_pre = cut_rows::take<value>(ctx, seq, Hidden);
      linear_backward_input(ctx, seq, dy, narrow_weight(w), Act, s.pre, again, s.d_pre);
      linear_backward_input(ctx, seq, s.d_pre, widen_weight(w), dx);
    } else {
      const sequences all = rows_of_all(ctx);
      s.dy_all = cut_rows::room<value, out>(ctx);
      s.d_pre = cut_rows::take<value>(ctx, all, hidden(w.cut));
      cut_rows::gather_for(ctx, dy, s.dy_all, [&](const sequences& some, interval rows, auto of) {
        using cut_rows::some_rows;
        linear_backward_input(ctx, some, of, narrow_weight(w), Act, some_rows(s.pre, rows),
                              some_rows(again, rows), some_rows(s.d_pre, rows));
      });
      cut_rows::backward_sum(ctx, s.d_pre, widen_weight(w), dx);
    }
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences&, view<X, in> x, view<DY, out> dy,
                              saved<N>& s, gradients<N> g) {
    products::add_weight_gradients(ctx, w.cut, x, s.d_pre, s.after, dy, s.dy_all, g);
  }

 private:
  using products::narrow_weight, products::widen_weight, products::widen_bias;

  template <class C, class N, class Widened>
  static matrix<typename N::value> activated(C& ctx, weights<N> w, const sequences& seq, Widened&& widened,
                                             saved<N>& s) {
    const matrix<typename N::value> after =
        keeps_outputs(ctx) ? s.after : cut_rows::take<typename N::value>(ctx, seq, hidden(w.cut));
    widened([&](const sequences& some, interval rows, auto x) {
      linear_forward(ctx, some, x, widen_weight(w), widen_bias(w), Act, cut_rows::some_rows(s.pre, rows),
                     cut_rows::some_rows(after, rows));
    });
    return after;
  }
};

}  // namespace motet
