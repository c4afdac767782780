// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/compose/sequential.hpp>
#include <motet/nn/layers/joined_squares.hpp>

namespace motet {

// The end of a net whose rows go on to another module, as they are.
template <isize Width>
struct bare_rows {
  static constexpr isize in = Width, out = Width, parameter_size = 0;
  static void parameters(parameter_list&) {}
  template <class N>
  struct saved {};
  template <class N, class C>
  static void reserve(C&, const sequences&, saved<N>&) {}
  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N>, const sequences& seq, view<X, in> x, view<Y, out> y, saved<N>&) {
    copy(ctx, seq, x, y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N>, const sequences& seq, view<X, in>, view<DY, out> dy,
                             view<DX, in> dx, saved<N>&) {
    copy(ctx, seq, dy, dx);
  }
};

// A last layer, such as a norm, may come before. All rows go on, instead of one row of features for each
// sample.
template <class Last>
struct rows_tail : Last {
  // Each row by itself: where ranks cut samples, those of a part will do.
  static constexpr bool gives_rows = true, ends_parts = true;
  static void parameters(parameter_list& list) {
    if constexpr (has_parameters<Last>) list.child<Last>("norm");
  }
  template <class C, class N, class X, class Y>
  static void infer(C& ctx, weights<N> w, const sequences& seq, view<X, Last::in> x, view<Y, Last::out> y) {
    layer::infer<Last>(ctx, w, seq, x, y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward(C& ctx, weights<N> w, const sequences& seq, view<X, Last::in> x,
                       view<DY, Last::out> dy, view<DX, Last::in> dx, typename Last::template saved<N>& s,
                       gradients<N> g) {
    layer::backward<Last>(ctx, w, seq, x, dy, dx, s, g);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<X, Last::in> x,
                              view<DY, Last::out> dy, typename Last::template saved<N>& s, gradients<N> g) {
    layer::backward_weight<Last>(ctx, w, seq, x, dy, s, g);
  }
};

// The same, and then squares of rows are joined to one (layers/joined_squares.hpp).
template <class Last, class Joined>
struct joined_rows_tail : rows_tail<sequential<named<"norm", Last>, Joined>> {
  static constexpr bool ends_parts = false;  // a square is of one picture
  static void parameters(parameter_list& list) { list.part<sequential<named<"norm", Last>, Joined>>(); }
};

}  // namespace motet
