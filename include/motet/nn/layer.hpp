// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>
#include <motet/nn/operations.hpp>
#include <motet/nn/parameter.hpp>
#include <motet/tensor/dtype.hpp>

// The contract of a layer. A layer is a stateless type L:
//
//   L::in, L::out                                  widths of its rows
//   L::parameter_size                              elements of the flat buffer it uses
//   L::parameters(list)                            names, shapes, starts and shard rules, in the order of memory
//   L::saved<N>                                    what backward needs and forward keeps; N is a `numbers`
//   L::reserve<N>(ctx, seq, saved)                 takes the memory of saved from ctx.memory
//   L::forward(ctx, w, seq, x, y, saved)
//   L::backward_input(ctx, w, seq, x, dy, dx, saved)     the input part: dx; may take memory that the weight part reads
//   L::backward_weight(ctx, w, seq, x, dy, saved, g)     the weight part: adds to g; the caller synchronises before it. Absent if no weights
//
// The caller owns x, y, dy and dx, and keeps x and dy until the weight part is done, so nothing is stored twice. Boundary rows have the type of
// the stream unless a composite says otherwise; layers are templates on the element types of their arguments.
// The free functions below give what every layer can do from these parts; containers specialise them to save memory.

namespace motet {

template <class L>
inline constexpr bool has_parameters = L::parameter_size > 0;

// Room on the stack for what a layer keeps, and none for a layer that keeps nothing.
struct nothing_saved {};

namespace layer {

template <class L>
std::vector<parameter> parameters_of(std::string_view prefix = {}) {
  parameter_list list;
  if (prefix.empty()) L::parameters(list);
  else list.child<L>(prefix);
  return list.items();
}

// The weight part, for layers with and without weights.
template <class L, class C, class N, class X, class DY>
void backward_weight(C& ctx, weights<N> w, const sequences& seq, X x, DY dy, typename L::template saved<N>& s, gradients<N> g) {
  if constexpr (has_parameters<L>) L::backward_weight(ctx, w, seq, x, dy, s, g);
}

// Both parts, one after the other, with the memory of the weight part given back at the end.
template <class L, class C, class N, class X, class DY, class DX>
void backward(C& ctx, weights<N> w, const sequences& seq, X x, DY dy, DX dx, typename L::template saved<N>& s, gradients<N> g) {
  if constexpr (requires { L::backward(ctx, w, seq, x, dy, dx, s, g); }) {
    L::backward(ctx, w, seq, x, dy, dx, s, g);
  } else {
    const index mark = ctx.memory.mark();
    L::backward_input(ctx, w, seq, x, dy, dx, s);
    synchronize(ctx);
    layer::backward_weight<L>(ctx, w, seq, x, dy, s, g);
    release(ctx, mark);
  }
}

// Forward that keeps nothing: evaluation, the first of two passes, and the replayed part of a recomputed layer.
template <class L, class C, class N, class X, class Y>
void infer(C& ctx, weights<N> w, const sequences& seq, X x, Y y) {
  if constexpr (requires { L::infer(ctx, w, seq, x, y); }) {
    L::infer(ctx, w, seq, x, y);
  } else {
    const index mark = ctx.memory.mark();
    typename L::template saved<N> s;
    L::template reserve<N>(ctx, seq, s);
    L::forward(ctx, w, seq, x, y, s);
    release(ctx, mark);
  }
}

}  // namespace layer
}  // namespace motet
