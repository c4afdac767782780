// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/rounded_rows.hpp>

#include <array>
#include <utility>

namespace motet {

// The same layer Count times with weights of its own each: one instantiation and a loop, so code does not
// grow with depth.
//
// Every function comes twice: for all layers, as the contract of a layer wants it, and for the layers
// [part.begin, part.end), numbers that may come at run time: a pipeline stage is such a part. Layers keep
// their numbers in `saved`, whatever the part; w and g point at the parameters of layer part.begin; x and y
// (dy, dx) are the rows at the ends of the part. An empty part copies.
// Within a layer that tells its gradients as one they are not told apart: then `Tells` is false.
// Asks for: a layer as wide at its end as at its beginning.
// Memory: what each layer keeps, and the rows (rows, width) between layers.
// Errors: MT-N04, MT-N05
// Example:
//   #include <motet/nn/layers/linear.hpp>
//   using deep = repeat<linear<64, 64>, 12>;
//   static_assert(deep::parameter_size == 12 * linear<64, 64>::parameter_size);
template <class L, isize Count, bool Tells = true>
struct repeat {
  static_assert(L::in == L::out, "motet: a repeated layer must keep the width [MT-N05]");
  static_assert(Count >= 0, "motet: sizes of a net must be positive [MT-N04]");
  using block = L;
  static constexpr isize in = L::in, out = L::out, count = Count;
  static constexpr isize layer_size = L::parameter_size, parameter_size = Count * layer_size;
  static constexpr isize adapter_size = Count * adapters_of<L>;
  static constexpr isize size(tensor_cut cut) { return Count * layer::size<L>(cut); }
  static constexpr isize held_adapters(tensor_cut cut) { return Count * layer::held_adapters<L>(cut); }
  // What lies before layer i, of parameters and of adapters; and the bound behind those that run as one from
  // there, before `end`.
  static constexpr isize size_before(isize i, tensor_cut cut) { return i * layer::size<L>(cut); }
  static constexpr isize adapters_before(isize i, tensor_cut cut) { return i * layer::held_adapters<L>(cut); }
  static constexpr isize next(isize i, isize /*end*/) { return i + 1; }
  static constexpr interval all{0, Count};

  static void parameters(parameter_list& list, interval part = all) {
    for (isize i = part.begin; i < part.end; ++i)
      list.in_block(i, [&] { list.template child<L>(std::to_string(i)); });
  }

  template <class N, class T = typename N::stream>
  using gradient = rounded_rows<T, typename N::value, in>;
  template <class N>
  struct saved {
    std::array<typename L::template saved<N>, as_size(Count)> layers;
    // x[i] goes into layer i; that of part.begin is the caller's
    std::array<view<typename N::stream, in>, as_size(Count)> x;
    // gradient of layer i's output, while the parts are split
    std::array<gradient<N>, as_size(Count)> d_y;
  };
  template <class N, class C>
  static void reserve(C& ctx, interval part, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
    for (isize i = part.begin; i < part.end; ++i) {
      if (i > part.begin) s.x[at(i)] = take<N>(ctx, seq);
      layer::reserve<L, N>(ctx, seq, s.layers[at(i)], cut);
    }
  }
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
    reserve<N>(ctx, all, seq, s, cut);
  }

  template <class C, class N, class T>
  static void forward(C& ctx, interval part, weights<N> w, const sequences& seq, view<T, in> x,
                      view<typename N::stream, out> y, saved<N>& s) {
    if (part.size() == 0) return copy(ctx, seq, x, y);
    view<const typename N::stream, in> from = x;
    for (isize i = part.begin; i < part.end; ++i) {
      const auto to = i + 1 < part.end ? s.x[at(i + 1)] : y;
      L::forward(ctx, lent(ctx, w, part, i), seq, from, to, s.layers[at(i)]);
      from = to;
    }
  }
  template <class C, class N, class T>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<T, in> x,
                      view<typename N::stream, out> y, saved<N>& s) {
    forward(ctx, all, w, seq, x, y, s);
  }

  template <class C, class N, class T>
  static void infer(C& ctx, interval part, weights<N> w, const sequences& seq, view<T, in> x,
                    view<typename N::stream, out> y) {
    if (part.size() == 0) return copy(ctx, seq, x, y);
    const isize mark = ctx.memory.mark();
    const auto other = part.size() > 1 ? take<N>(ctx, seq) : y;
    view<const typename N::stream, in> from = x;
    for (isize i = part.begin; i < part.end; ++i) {
      const auto to = (part.end - 1 - i) % 2 == 0 ? y : other;
      layer::infer<L>(ctx, lent(ctx, w, part, i), seq, from, to);
      from = to;
    }
    release(ctx, mark);
  }
  template <class C, class N, class T>
  static void infer(C& ctx, weights<N> w, const sequences& seq, view<T, in> x,
                    view<typename N::stream, out> y) {
    infer(ctx, all, w, seq, x, y);
  }

  // Both parts layer by layer: what lies between the parts is kept for one layer only.
  template <class C, class N, class T, class D>
  static void backward(C& ctx, interval part, weights<N> w, const sequences& seq, view<T, in> x,
                       view<D, out> dy, view<typename N::stream, in> dx, saved<N>& s, gradients<N> g) {
    if (part.size() == 0) return copy(ctx, seq, dy, dx);
    const isize mark = ctx.memory.mark();
    // Layers write here and there in turns; the last one writes dx alone.
    gradient<N> here = dx, there = dx;
    if (part.size() > 1) there = take_gradient<N>(ctx, seq);
    if (part.size() > 2) here.rounded = take_rounded<L, N>(ctx, seq);
    gradient<N, const typename N::stream> from{dy};
    for (isize i = part.end; i-- > part.begin;) {
      const gradient<N> to = i == part.begin ? gradient<N>(dx) : (i - part.begin) % 2 == 0 ? here : there;
      collect(ctx, of_layer(g, part, i), [&](gradients<N> own) {
        layer::backward<L>(ctx, lent(ctx, w, part, i), seq, entry(x, s, part, i), from, to, s.layers[at(i)],
                           own);
      });
      from = {to, to.rounded};
    }
    release(ctx, mark);
  }
  template <class C, class N, class T, class D>
  static void backward(C& ctx, weights<N> w, const sequences& seq, view<T, in> x, view<D, out> dy,
                       view<typename N::stream, in> dx, saved<N>& s, gradients<N> g) {
    backward(ctx, all, w, seq, x, dy, dx, s, g);
  }

  template <class C, class N, class T, class D>
  static void backward_input(C& ctx, interval part, weights<N> w, const sequences& seq, view<T, in> x,
                             view<D, out> dy, view<typename N::stream, in> dx, saved<N>& s) {
    if (part.size() == 0) return copy(ctx, seq, dy, dx);
    gradient<N, const typename N::stream> from{dy};
    for (isize i = part.end; i-- > part.begin;) {
      gradient<N> to = dx;
      if (i > part.begin) to = s.d_y[at(i - 1)] = take_gradient<N>(ctx, seq);
      L::backward_input(ctx, lent(ctx, w, part, i), seq, entry(x, s, part, i), from, to, s.layers[at(i)]);
      from = {to, to.rounded};
    }
  }
  template <class C, class N, class T, class D>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<T, in> x, view<D, out> dy,
                             view<typename N::stream, in> dx, saved<N>& s) {
    backward_input(ctx, all, w, seq, x, dy, dx, s);
  }

  template <class C, class N, class T, class D>
  static void backward_weight(C& ctx, interval part, weights<N> w, const sequences& seq, view<T, in> x,
                              view<D, out> dy, saved<N>& s, gradients<N> g) {
    gradient<N, const typename N::stream> from{dy};
    for (isize i = part.end; i-- > part.begin;) {
      collect(ctx, of_layer(g, part, i), [&](gradients<N> own) {
        layer::backward_weight<L>(ctx, lent(ctx, w, part, i), seq, entry(x, s, part, i), from,
                                  s.layers[at(i)], own);
      });
      if (i > part.begin) from = {s.d_y[at(i - 1)], s.d_y[at(i - 1)].rounded};
    }
  }
  template <class C, class N, class T, class D>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<T, in> x, view<D, out> dy,
                              saved<N>& s, gradients<N> g) {
    backward_weight(ctx, all, w, seq, x, dy, s, g);
  }

 private:
  template <class C, class N, class Add>
  static void collect(C& ctx, gradients<N> g, Add&& add) {
    if constexpr (Tells) layer::collect<L>(ctx, g, std::forward<Add>(add));
    else add(g);
  }
  static constexpr std::size_t at(isize i) { return as_size(i); }
  // Weights or gradients of layer i; weights know its number.
  template <class W>
  static constexpr W of_layer(W w, interval part, isize i) {
    if constexpr (requires { w.block; }) w.block = i;
    const isize before = i - part.begin;
    return layer::part<L>(w, before * layer::size<L>(w.cut), before * layer::held_adapters<L>(w.cut));
  }
  template <class C, class N>
  static weights<N> lent(C& ctx, weights<N> w, interval part, isize i) {
    if constexpr (Tells) return layer::lend<L>(ctx, of_layer(w, part, i));
    else return of_layer(w, part, i);
  }
  template <class N, class C>
  static view<typename N::stream, in> take(C& ctx, const sequences& seq) {
    return ctx.memory.template take_rows<typename N::stream, in>(seq.rows());
  }
  template <class N, class C>
  static gradient<N> take_gradient(C& ctx, const sequences& seq) {
    const auto rows = take<N>(ctx, seq);
    return {rows, take_rounded<L, N>(ctx, seq)};
  }
  template <class T, class N>
  static view<const typename N::stream, in> entry(view<T, in> x, const saved<N>& s, interval part, isize i) {
    if (i == part.begin) return x;
    return s.x[at(i)];
  }
};

}  // namespace motet
