// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/kept_outputs.hpp>
#include <motet/nn/core/rounded_rows.hpp>
#include <motet/nn/layers/norm.hpp>

namespace motet {

// y = x + inner(norm(x)): the pre-norm branch that transformers are made of. The skip costs no pass of its
// own in either direction, and the norm's output is made again in backward, together with dx, unless outputs
// are kept (kept_outputs.hpp). So inner's input part gets an empty x.
// Asks for: a norm and a layer, both as wide at their end as at their beginning.
// Memory: what both keep, and (rows, width) where outputs are kept; in backward twice (rows, width) more, or
// once.
// Errors: MT-N05
// Example:
//   #include <motet/nn/layers/mlp.hpp>
//   using branch = residual<norm<192>, mlp<192, 768, activation::gelu>>;
//   static_assert(branch::in == 192 && branch::out == 192);
template <class Norm, class Inner>
struct residual {
  static_assert(Norm::out == Inner::in && Inner::in == Inner::out,
                "motet: a residual branch must keep the width [MT-N05]");
  static constexpr isize in = Norm::in, out = Norm::in;
  static constexpr bool rounds_gradient = true;
  static constexpr isize inner_at = Norm::parameter_size;
  static constexpr isize parameter_size = inner_at + Inner::parameter_size;
  static constexpr isize adapter_size = adapters_of<Inner>;
  static constexpr isize size(tensor_cut cut) { return inner_at + layer::size<Inner>(cut); }
  static constexpr isize held_adapters(tensor_cut cut) { return layer::held_adapters<Inner>(cut); }

  static void parameters(parameter_list& list) {
    list.child<Norm>("norm");
    list.part<Inner>();
  }

  template <class N>
  struct saved {
    typename Norm::template saved<N> norm;
    typename Inner::template saved<N> inner;
    view<typename N::value, in> normed;  // (rows, width), from forward on or from the input part of backward
    view<typename N::value, in> d_normed;  // (rows, width), between the two parts of backward
    // (rows, width), likewise: rounded, where that spares passes
    view<typename N::value, out> dy;
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
    Norm::template reserve<N>(ctx, seq, s.norm);
    if (keeps_outputs(ctx)) s.normed = ctx.memory.template take_rows<typename N::value, in>(seq.rows());
    layer::reserve<Inner, N>(ctx, seq, s.inner, cut);
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    const isize mark = ctx.memory.mark();
    const auto normed =
        keeps_outputs(ctx) ? s.normed : ctx.memory.template take_rows<typename N::value, in>(seq.rows());
    Norm::forward(ctx, w, seq, x, normed, s.norm);
    Inner::forward_add(ctx, layer::part<Inner>(w, inner_at), seq, normed, x, y, s.inner);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, DY dy, DX dx,
                             saved<N>& s) {
    Norm::reserve_backward(ctx, seq, s.norm);
    view<typename N::value, in> again;
    if (!keeps_outputs(ctx))
      s.normed = again = ctx.memory.template take_rows<typename N::value, in>(seq.rows());
    s.d_normed = ctx.memory.template take_rows<typename N::value, in>(seq.rows());
    if constexpr (keeps_rounded<C, N>) {
      s.dy = rounded_of<typename N::value>(dy);
      if (!s.dy) {
        s.dy = ctx.memory.template take_rows<typename N::value, out>(seq.rows());
        copy(ctx, seq, dy, s.dy);
      }
    }
    Inner::backward_input(ctx, layer::part<Inner>(w, inner_at), seq, view<const typename N::value, in>{},
                          read_by_products<C>(dy, s), s.d_normed, s.inner);
    Norm::backward_rows(ctx, w, seq, x, s.d_normed, dy, dx, again, rounded_of<typename N::value>(dx), s.norm);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, DY dy, saved<N>& s,
                              gradients<N> g) {
    Inner::backward_weight(ctx, layer::part<Inner>(w, inner_at), seq, s.normed, read_by_products<C>(dy, s),
                           s.inner, layer::part<Inner>(g, inner_at));
    Norm::backward_weight(ctx, w, seq, x, s.d_normed, s.norm, g);
  }

 private:
  template <class C, class T, class N>
  static auto read_by_products(view<T, out> dy, const saved<N>& s) {
    if constexpr (keeps_rounded<C, N>) return s.dy;
    else return dy;
  }
};

}  // namespace motet
