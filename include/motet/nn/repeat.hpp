// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layer.hpp>

#include <array>

namespace motet {

// The same layer Count times with weights of its own each: one instantiation and a loop, so code does not grow with depth.
template <class L, index Count>
struct repeat {
  static_assert(L::in == L::out, "motet: a repeated layer must keep the width [MT-N05]");
  static_assert(Count >= 0, "motet: sizes of a net must be positive [MT-N04]");
  static constexpr index in = L::in, out = L::out;
  static constexpr index parameter_size = Count * L::parameter_size;

  static void parameters(parameter_list& list) {
    for (index i = 0; i < Count; ++i) list.template child<L>(std::to_string(i));
  }

  template <class N>
  struct saved {
    std::array<typename L::template saved<N>, static_cast<std::size_t>(Count)> layers;
    std::array<view<typename N::stream, in>, static_cast<std::size_t>(Count)> x;    // x[i] goes into layer i; x[0] is the caller's
    std::array<view<typename N::stream, in>, static_cast<std::size_t>(Count)> d_y;  // gradient of layer i's output, while the parts are split
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    for (index i = 0; i < Count; ++i) {
      if (i > 0) s.x[at(i)] = ctx.memory.template take_rows<typename N::stream, in>(seq.rows());
      L::template reserve<N>(ctx, seq, s.layers[at(i)]);
    }
  }

  template <class C, class N, class T>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<T, in> x, view<typename N::stream, out> y, saved<N>& s) {
    view<const typename N::stream, in> from = x;
    for (index i = 0; i < Count; ++i) {
      const auto to = i + 1 < Count ? s.x[at(i + 1)] : y;
      L::forward(ctx, w + i * L::parameter_size, seq, from, to, s.layers[at(i)]);
      from = to;
    }
    if constexpr (Count == 0) copy(ctx, seq, x, y);
  }
  template <class C, class N, class T>
  static void infer(C& ctx, weights<N> w, const sequences& seq, view<T, in> x, view<typename N::stream, out> y) {
    const index mark = ctx.memory.mark();
    const auto other = ctx.memory.template take_rows<typename N::stream, in>(seq.rows());
    view<const typename N::stream, in> from = x;
    for (index i = 0; i < Count; ++i) {
      const auto to = (Count - 1 - i) % 2 == 0 ? y : other;
      layer::infer<L>(ctx, w + i * L::parameter_size, seq, from, to);
      from = to;
    }
    if constexpr (Count == 0) copy(ctx, seq, x, y);
    release(ctx, mark);
  }

  // Both parts layer by layer: what lies between the parts is kept for one layer only.
  template <class C, class N, class T, class D>
  static void backward(C& ctx, weights<N> w, const sequences& seq, view<T, in> x, view<D, out> dy, view<typename N::stream, in> dx, saved<N>& s,
                       gradients<N> g) {
    using stream = typename N::stream;
    const index mark = ctx.memory.mark();
    const auto other = ctx.memory.template take_rows<stream, in>(seq.rows());
    view<const stream, in> from = dy;
    for (index i = Count; i-- > 0;) {
      const auto to = i % 2 == 0 ? dx : other;
      layer::backward<L>(ctx, w + i * L::parameter_size, seq, entry(x, s, i), from, to, s.layers[at(i)], g + i * L::parameter_size);
      from = to;
    }
    if constexpr (Count == 0) copy(ctx, seq, dy, dx);
    release(ctx, mark);
  }
  template <class C, class N, class T, class D>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<T, in> x, view<D, out> dy, view<typename N::stream, in> dx,
                             saved<N>& s) {
    view<const typename N::stream, in> from = dy;
    for (index i = Count; i-- > 0;) {
      auto to = dx;
      if (i > 0) to = s.d_y[at(i - 1)] = ctx.memory.template take_rows<typename N::stream, in>(seq.rows());
      L::backward_input(ctx, w + i * L::parameter_size, seq, entry(x, s, i), from, to, s.layers[at(i)]);
      from = to;
    }
    if constexpr (Count == 0) copy(ctx, seq, dy, dx);
  }
  template <class C, class N, class T, class D>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<T, in> x, view<D, out> dy, saved<N>& s, gradients<N> g) {
    for (index i = Count; i-- > 0;) {
      const view<const typename N::stream, in> from =
          i + 1 < Count ? view<const typename N::stream, in>(s.d_y[at(i)]) : view<const typename N::stream, in>(dy);
      layer::backward_weight<L>(ctx, w + i * L::parameter_size, seq, entry(x, s, i), from, s.layers[at(i)], g + i * L::parameter_size);
    }
  }

 private:
  static constexpr std::size_t at(index i) { return static_cast<std::size_t>(i); }
  template <class T, class N>
  static view<const typename N::stream, in> entry(view<T, in> x, const saved<N>& s, index i) {
    if (i == 0) return x;
    return s.x[at(i)];
  }
};

}  // namespace motet
