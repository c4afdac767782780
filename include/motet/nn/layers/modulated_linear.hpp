// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/modulation.hpp>

namespace motet {

// The end of a net with conditions: each row but the condition is normed, shifted and scaled by what the
// condition tells, and a product makes Out numbers of it. Like the modulation, the product starts as zero.
// Asks for: samples of equally many rows, the first of which is the condition; y has the others.
// Memory: (rows, width), two numbers a row, and three times (samples, width).
// Errors: MT-N04
// Example:
//   using end = modulated_linear<64, 12>;
//   static_assert(end::in == 64 && end::out == 12);
template <isize Width, isize Out>
struct modulated_linear {
  static constexpr isize in = Width, out = Out;
  using told = modulation<Width, 2>;  // shift, scale
  using product = linear<Width, Out>;
  static constexpr isize product_at = told::parameter_size;
  static constexpr isize parameter_size = product_at + product::parameter_size;

  static void parameters(parameter_list& list) {
    list.child<told>("modulation");
    list.child("out", [&] {
      list.matrix("weight", Out, Width, {});
      list.vector("bias", Out, {});
    });
  }

  template <class N>
  struct saved {
    typename told::template saved<N> condition;
    view<typename N::master, 2> stats;   // (rows, mean and 1 / deviation)
    view<typename N::value, in> normed;  // (rows, width)
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    const isize rows = behind_conditions(seq).rows();
    told::template reserve<N>(ctx, seq, s.condition);
    s.stats = ctx.memory.template take_rows<typename N::master, 2>(rows);
    s.normed = ctx.memory.template take_rows<typename N::value, in>(rows);
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    const weights<N> of_product = w + product_at;
    told::forward(ctx, w, seq, x, s.condition);
    modulated_norm_forward(ctx, seq, x, s.condition.part(0, 2), modulated_epsilon, s.normed, s.stats);
    linear_forward(ctx, behind_conditions(seq), s.normed, product::weight(of_product.data),
                   product::bias(of_product.data), y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    const sequences rows = behind_conditions(seq);
    told::reserve_backward(ctx, seq, s.condition);
    const auto d_normed = ctx.memory.template take_rows<typename N::value, in>(rows.rows());
    linear_backward_input(ctx, rows, dy, product::weight((w + product_at).data), d_normed);
    modulated_norm_backward(ctx, seq, x, s.condition.part(0, 2), s.stats, d_normed, matrix<const DX>{}, dx,
                            s.condition.d_part(0, 2), matrix<typename N::value>{});
    told::backward_input(ctx, w, seq, x, dx, s.condition);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N>, const sequences&, view<X, in>, view<DY, out> dy,
                              saved<N>& s, gradients<N> g) {
    const gradients<N> of_product = g + product_at;
    linear_backward_weight(ctx, s.normed, dy, product::weight(of_product.data),
                           product::bias(of_product.data));
    told::backward_weight(ctx, s.condition, g);
  }
};

}  // namespace motet
