// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>

namespace motet {

// A branch that adds tanh(gate) times what it makes. The gate is one number that is learned and begins at
// zero, so a net with the branch begins as it is without it, as in Flamingo (Alayrac et al. 2022) and Llama's
// vision models.
// Asks for: a layer as the inside of a residual branch.
// Memory: what the layer keeps, (rows, width), and a number for each row.
// Errors: none of its own.
// Example:
//   #include <motet/nn/layers/cross_attention.hpp>
//   using look = gated_branch<cross_attention<attention_config{.width = 64, .heads = 4}, 48>>;
//   static_assert(look::in == 64 && look::inner_at == parameter_space(1));
template <class Inner>
struct gated_branch {
  static constexpr isize in = Inner::in, out = Inner::out;
  static constexpr isize inner_at = parameter_space(1), parameter_size = inner_at + Inner::parameter_size;

  static void parameters(parameter_list& list) {
    list.vector("gate", 1, {});
    list.part<Inner>();
  }

  template <class N>
  struct saved {
    typename Inner::template saved<N> inner;
    view<typename N::value, out> branch;    // (rows, width)
    view<typename N::master, 1> sums;       // of each row, between the two parts of backward
    view<typename N::value, out> d_branch;  // (rows, width), likewise
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    Inner::template reserve<N>(ctx, seq, s.inner);
    s.branch = ctx.memory.template take_rows<typename N::value, out>(seq.rows());
    s.sums = ctx.memory.template take_rows<typename N::master, 1>(seq.rows());
  }

  template <class C, class N, class X, class R, class Y>
  static void forward_add(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<R, out> residual,
                          view<Y, out> y, saved<N>& s) {
    Inner::forward(ctx, w + inner_at, seq, x, s.branch, s.inner);
    gate_forward(ctx, seq, residual, s.branch, w.data, y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    s.d_branch = ctx.memory.template take_rows<typename N::value, out>(seq.rows());
    gate_backward_input(ctx, seq, s.branch, w.data, dy, s.d_branch, s.sums);
    Inner::backward_input(ctx, w + inner_at, seq, x, s.d_branch, dx, s.inner);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out>,
                              saved<N>& s, gradients<N> g) {
    Inner::backward_weight(ctx, w + inner_at, seq, x, s.d_branch, s.inner, g + inner_at);
    gate_backward_weight(ctx, w.data, s.sums, g.data);
  }
};

}  // namespace motet
