// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/linear.hpp>

namespace motet {

// The head of a contrastive tower: a product without bias into the shared space, then rows of length one.
// Asks for: one row for each sample.
// Memory: (rows, Out) and the length of each row, in the type of master weights.
// Errors: MT-N04
// Example:
//   using features = projection<192, 128>;
//   static_assert(features::parameter_size == 192 * 128);
template <isize In, isize Out>
struct projection {
  using project = linear<In, Out, false>;
  static constexpr isize in = In, out = Out;
  static constexpr isize parameter_size = project::parameter_size;
  static void parameters(parameter_list& list) { project::parameters(list); }

  template <class N>
  struct saved {
    view<typename N::master, Out> y;          // (rows, out), this layer's own copy of its result
    view<typename N::master, 1> lengths;      // (rows, 1), before the division
    view<typename N::master, Out> d_project;  // (rows, out), between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.y = ctx.memory.template take_rows<typename N::master, Out>(seq.rows());
    s.lengths = ctx.memory.template take_rows<typename N::master, 1>(seq.rows());
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, In> x, view<Y, Out> y,
                      saved<N>& s) {
    linear_forward(ctx, seq, x, project::weight(w.data), project::bias(w.data), s.y);
    normalize_forward(ctx, seq, s.y, s.y, s.lengths);
    copy(ctx, seq, s.y, y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, In>, view<DY, Out> dy,
                             view<DX, In> dx, saved<N>& s) {
    s.d_project = ctx.memory.template take_rows<typename N::master, Out>(seq.rows());
    normalize_backward(ctx, seq, s.y, s.lengths, dy, s.d_project);
    linear_backward_input(ctx, seq, s.d_project, project::weight(w.data), dx);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N>, const sequences&, view<X, In> x, view<DY, Out>, saved<N>& s,
                              gradients<N> g) {
    linear_backward_weight(ctx, x, s.d_project, project::weight(g.data), project::bias(g.data));
  }
};

}  // namespace motet
