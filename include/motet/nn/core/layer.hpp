// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/verdict.hpp>
#include <motet/nn/core/operations.hpp>
#include <motet/nn/core/parameter.hpp>
#include <motet/tensor/dtype.hpp>

// The contract of a layer. A layer is a stateless type L:
//
//   L::in, L::out
//       widths of its rows
//   L::parameter_size
//       elements of the flat buffer it uses
//   L::size(cut)
//       the same of the part that a tensor member holds; absent if the layer is never cut
//   L::adapter_size, L::held_adapters(cut)
//       both of its adapters; absent if it has none
//   L::parameters(list)
//       names, shapes, starts and shard rules, in the order of memory
//   L::saved<N>
//       what backward needs and forward keeps; N is a `numbers`
//   L::reserve<N>(ctx, seq, saved)
//       takes the memory of saved from ctx.memory; a layer that may be cut has (..., saved, cut = {})
//   L::forward(ctx, w, seq, x, y, saved)
//   L::backward_input(ctx, w, seq, x, dy, dx, saved)
//       the input part: dx; may take memory that the weight part reads
//       where L::spares_input_gradient, dx may be none, and is then not computed
//   L::backward_weight(ctx, w, seq, x, dy, saved, g)
//       the weight part: adds to g; the caller synchronises before it. Absent if no weights
//
// The caller owns x, y, dy and dx, and keeps x and dy until the weight part is done, so nothing is stored
// twice. Boundary rows have the type of the stream unless a composite says otherwise; layers are templates on
// the element types of their arguments.
//
// A layer that tensor parallelism may cut finds its part in w.cut. Its rows, and those of all others, are the
// samples that this rank owns (tensor.hpp). The free functions below give what every layer can do from these
// parts; containers specialise them to save memory.

namespace motet {

template <class L>
inline constexpr bool has_parameters = L::parameter_size > 0;
// The elements of a layer's adapters (nn/layers/adapters.hpp), which lie apart from its weights.
template <class L>
inline constexpr isize adapters_of = [] {
  if constexpr (requires { L::adapter_size; }) return isize{L::adapter_size};
  else return isize{0};
}();
// A layer that rests adds to no gradient (nn/compose/resting.hpp).
template <class L>
inline constexpr bool rests = [] {
  if constexpr (requires { L::rests; }) return L::rests;
  else return false;
}();
template <class L>
inline constexpr bool spares_input_gradient = [] {
  if constexpr (requires { L::spares_input_gradient; }) return L::spares_input_gradient;
  else return false;
}();

namespace layer {

template <class L>
std::vector<parameter> parameters_of(std::string_view prefix = {}, tensor_cut cut = {},
                                     listed what = listed::weights) {
  parameter_list list(cut, what);
  if (prefix.empty()) list.part<L>();
  else list.child<L>(prefix);
  return list.items();
}

// Elements of the flat buffer that a layer's part uses.
template <class L>
constexpr isize size(tensor_cut cut) {
  if constexpr (can_be_cut<L>) return L::size(cut);
  else return L::parameter_size;
}
// The same of its adapters.
template <class L>
constexpr isize held_adapters(tensor_cut cut) {
  if constexpr (requires { L::held_adapters(cut); }) return L::held_adapters(cut);
  else return adapters_of<L>;
}
// The weights, or gradients, of a part that begins `at` elements on, and its adapters `adapters_at`. A layer
// that is never cut does not see the cut, nor do its own parts.
template <class L, class W>
constexpr W part(W w, isize at = 0, isize adapters_at = 0) {
  w.data += at;
  if constexpr (!can_be_cut<L>) w.cut = {};
  w.adapters += adapters_at;
  return w;
}

// add(g) adds to all gradients of a layer, as nobody else does in this backward: in the memory where they are
// wanted, and who waits for them is told.
template <class L, class C, class N, class Add>
void collect(C& ctx, gradients<N> g, Add&& add) {
  if constexpr (!has_parameters<L> || rests<L>) {
    add(g);
  } else if constexpr (adapters_of<L> > 0) {
    const isize count = layer::held_adapters<L>(g.cut);
    add(gradients<N>{nullptr, g.cut, gradients_at(ctx, g.adapters, count)});
    gradients_ready(ctx, g.adapters, count);
  } else {
    const isize count = layer::size<L>(g.cut);
    add(gradients<N>{gradients_at(ctx, g.data, count), g.cut, nullptr, g.lent});
    gradients_ready(ctx, g.data, count);
  }
}

// The weights of a layer, where they are while it computes and no other does.
template <class L, class C, class N>
weights<N> lend(C& ctx, weights<N> w) {
  if constexpr (has_parameters<L> && requires { ctx.lender; })
    w.data = weights_at(ctx, w.data, layer::size<L>(w.cut));
  return w;
}

template <class L, class N, class C>
void reserve(C& ctx, const sequences& seq, typename L::template saved<N>& s, tensor_cut cut) {
  if constexpr (requires { L::template reserve<N>(ctx, seq, s, cut); })
    L::template reserve<N>(ctx, seq, s, cut);
  else L::template reserve<N>(ctx, seq, s);
}

// The weight part, for layers with and without weights.
template <class L, class C, class N, class X, class DY>
void backward_weight(C& ctx, weights<N> w, const sequences& seq, X x, DY dy, typename L::template saved<N>& s,
                     gradients<N> g) {
  if constexpr (has_parameters<L>) L::backward_weight(ctx, w, seq, x, dy, s, g);
}

// Both parts, one after the other, with the memory of the weight part given back at the end.
template <class L, class C, class N, class X, class DY, class DX>
void backward(C& ctx, weights<N> w, const sequences& seq, X x, DY dy, DX dx, typename L::template saved<N>& s,
              gradients<N> g) {
  if constexpr (requires { L::backward(ctx, w, seq, x, dy, dx, s, g); }) {
    L::backward(ctx, w, seq, x, dy, dx, s, g);
  } else {
    const isize mark = ctx.memory.mark();
    L::backward_input(ctx, w, seq, x, dy, dx, s);
    synchronize(ctx);
    layer::backward_weight<L>(ctx, w, seq, x, dy, s, g);
    release(ctx, mark);
  }
}

// Forward that keeps nothing: evaluation, the first of two passes, and the replayed part of a recomputed
// layer.
template <class L, class C, class N, class X, class Y>
void infer(C& ctx, weights<N> w, const sequences& seq, X x, Y y) {
  if constexpr (requires { L::infer(ctx, w, seq, x, y); }) {
    L::infer(ctx, w, seq, x, y);
  } else {
    const isize mark = ctx.memory.mark();
    typename L::template saved<N> s;
    layer::reserve<L, N>(ctx, seq, s, w.cut);
    L::forward(ctx, w, seq, x, y, s);
    release(ctx, mark);
  }
}

}  // namespace layer
}  // namespace motet
