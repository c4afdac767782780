// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/rounded_rows.hpp>

namespace motet {

// Values that backward reads are made again in every run, or in those that ask for it, by a member of the
// context that says so.
enum class recomputed { always, when_asked };

// Keeps only a layer's input and runs its forward again in backward: memory for time. Parameters and names
// are the layer's own, so a net with and without it shares checkpoints.
// Asks for: a layer; its rows come in again for backward.
// Memory: nothing between forward and backward; in backward what the layer keeps, for this layer alone.
// Errors: none of its own.
// Example:
//   #include <motet/nn/layers/mlp.hpp>
//   using lean = recompute<mlp<192, 768, activation::gelu>>;
//   static_assert(lean::parameter_size == mlp<192, 768, activation::gelu>::parameter_size);
template <class L, recomputed When = recomputed::always>
struct recompute {
  static constexpr isize in = L::in, out = L::out;
  static constexpr bool rounds_gradient = motet::rounds_gradient<L>;
  static constexpr isize parameter_size = L::parameter_size, adapter_size = adapters_of<L>;
  static constexpr isize size(tensor_cut cut) { return layer::size<L>(cut); }
  static constexpr isize held_adapters(tensor_cut cut) { return layer::held_adapters<L>(cut); }
  static void parameters(parameter_list& list) { list.part<L>(); }

  template <class N>
  struct saved {
    typename L::template saved<N> inner;  // recomputed, its memory exists from the start of backward on
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
    if (!runs_again(ctx)) layer::reserve<L, N>(ctx, seq, s.inner, cut);
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    if (runs_again(ctx)) layer::infer<L>(ctx, layer::part<L>(w), seq, x, y);
    else L::forward(ctx, layer::part<L>(w), seq, x, y, s.inner);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, DY dy, DX dx,
                             saved<N>& s) {
    if (runs_again(ctx)) replay(ctx, w, seq, x, s);
    L::backward_input(ctx, layer::part<L>(w), seq, x, dy, dx, s.inner);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, DY dy, saved<N>& s,
                              gradients<N> g) {
    layer::backward_weight<L>(ctx, layer::part<L>(w), seq, x, dy, s.inner, layer::part<L>(g));
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, DY dy, DX dx, saved<N>& s,
                       gradients<N> g) {
    const isize mark = ctx.memory.mark();
    if (runs_again(ctx)) replay(ctx, w, seq, x, s);
    layer::backward<L>(ctx, layer::part<L>(w), seq, x, dy, dx, s.inner, layer::part<L>(g));
    release(ctx, mark);
  }

 private:
  template <class C>
  static constexpr bool runs_again(const C& ctx) {
    if constexpr (When == recomputed::always) return true;
    else if constexpr (requires { ctx.recompute; }) return ctx.recompute;
    else return false;
  }
  template <class C, class N, class X>
  static void replay(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, saved<N>& s) {
    layer::reserve<L, N>(ctx, seq, s.inner, w.cut);
    const isize mark = ctx.memory.mark();
    const auto y = ctx.memory.template take_rows<typename N::stream, out>(seq.rows());
    L::forward(ctx, layer::part<L>(w), seq, x, y, s.inner);
    release(ctx, mark);
  }
};

}  // namespace motet
