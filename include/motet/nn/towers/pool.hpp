// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/compose/residual.hpp>
#include <motet/nn/towers/picked.hpp>

namespace motet {

// A pool kind says how a tower becomes one row for each sample.
enum class pool_kind : std::uint8_t { first, last, mean, attention };

// Heads take (rows, width) to (samples, width); they follow the contract of a layer, with one row of y for
// each sample.

// The last block computed for the picked row alone, then the final norm.
template <class Norm, attention_config Config, class Mlp, pick Which, isize Position>
struct picked_block_head {
  using attend = residual_picked<Norm, Config, Which>;
  using mix = residual<Norm, Mlp>;
  static constexpr isize in = Config.width, out = Config.width;
  static constexpr isize mix_at = attend::parameter_size, norm_at = mix_at + mix::parameter_size;
  static constexpr isize parameter_size = norm_at + Norm::parameter_size;

  // The names are those of the block that it stands for.
  static void parameters(parameter_list& list) {
    const std::string block = "blocks." + std::to_string(Position);
    list.in_block(Position, [&] {
      list.child<attend>(block + ".attention");
      list.child<mix>(block + ".mlp");
    });
    list.child<Norm>("norm");
  }

  template <class N>
  struct saved {
    typename attend::template saved<N> kept_attend;
    typename mix::template saved<N> kept_mix;
    typename Norm::template saved<N> norm;
    view<typename N::stream, in> middle, top;      // (samples, width)
    view<typename N::stream, in> d_middle, d_top;  // (samples, width), between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    attend::template reserve<N>(ctx, seq, s.kept_attend);
    s.middle = ctx.memory.template take_rows<typename N::stream, in>(seq.samples);
    mix::template reserve<N>(ctx, seq.pooled(), s.kept_mix);
    s.top = ctx.memory.template take_rows<typename N::stream, in>(seq.samples);
    Norm::template reserve<N>(ctx, seq.pooled(), s.norm);
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    attend::forward(ctx, w, seq, x, s.middle, s.kept_attend);
    mix::forward(ctx, w + mix_at, seq.pooled(), s.middle, s.top, s.kept_mix);
    Norm::forward(ctx, w + norm_at, seq.pooled(), s.top, y, s.norm);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    s.d_top = ctx.memory.template take_rows<typename N::stream, in>(seq.samples);
    s.d_middle = ctx.memory.template take_rows<typename N::stream, in>(seq.samples);
    Norm::backward_input(ctx, w + norm_at, seq.pooled(), s.top, dy, s.d_top, s.norm);
    mix::backward_input(ctx, w + mix_at, seq.pooled(), s.middle, s.d_top, s.d_middle, s.kept_mix);
    attend::backward_input(ctx, w, seq, x, s.d_middle, dx, s.kept_attend);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out> dy,
                              saved<N>& s, gradients<N> g) {
    Norm::backward_weight(ctx, w + norm_at, seq.pooled(), s.top, dy, s.norm, g + norm_at);
    mix::backward_weight(ctx, w + mix_at, seq.pooled(), s.middle, s.d_top, s.kept_mix, g + mix_at);
    attend::backward_weight(ctx, w, seq, x, s.d_middle, s.kept_attend, g);
  }
};

// One row of each sample, then the final norm.
template <class Norm, pick Which>
struct pick_head {
  static constexpr isize in = Norm::in, out = Norm::in;
  static constexpr isize parameter_size = Norm::parameter_size;
  static void parameters(parameter_list& list) { list.child<Norm>("norm"); }

  template <class N>
  struct saved {
    typename Norm::template saved<N> norm;
    view<typename N::stream, in> picked;  // (samples, width)
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.picked = ctx.memory.template take_rows<typename N::stream, in>(seq.samples);
    Norm::template reserve<N>(ctx, seq.pooled(), s.norm);
  }
  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    pick_forward(ctx, seq, Which, x, s.picked);
    hand_over(ctx, seq);
    Norm::forward(ctx, w, seq.pooled(), s.picked, y, s.norm);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    Norm::reserve_backward(ctx, seq.pooled(), s.norm);
    const isize mark = ctx.memory.mark();
    const auto d_picked = ctx.memory.template take_rows<typename N::stream, in>(seq.samples);
    Norm::backward_rows(ctx, w, seq.pooled(), s.picked, dy, matrix<const typename N::stream>{}, d_picked, {},
                        {}, s.norm);
    zero(ctx, seq, dx);
    hand_over(ctx, seq);
    pick_backward(ctx, seq, Which, d_picked, dx);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy,
                              saved<N>& s, gradients<N> g) {
    Norm::backward_weight(ctx, w, seq.pooled(), s.picked, dy, s.norm, g);
  }
};

// The final norm of every row, then a reduction of each sample's rows by `Reduce` (mean_pool,
// attention_pool).
template <class Norm, class Reduce>
struct reduce_head {
  static constexpr isize in = Norm::in, out = Reduce::out;
  static constexpr isize reduce_at = Norm::parameter_size;
  static constexpr isize parameter_size = reduce_at + Reduce::parameter_size;
  static void parameters(parameter_list& list) {
    list.child<Norm>("norm");
    if constexpr (has_parameters<Reduce>) list.child<Reduce>("pool");
  }

  template <class N>
  struct saved {
    typename Norm::template saved<N> norm;
    typename Reduce::template saved<N> reduce;
    view<typename N::value, in> normed;    // (rows, width)
    view<typename N::value, in> d_normed;  // (rows, width), between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    Norm::template reserve<N>(ctx, seq, s.norm);
    s.normed = ctx.memory.template take_rows<typename N::value, in>(seq.rows());
    Reduce::template reserve<N>(ctx, seq, s.reduce);
  }
  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    Norm::forward(ctx, w, seq, x, s.normed, s.norm);
    Reduce::forward(ctx, w + reduce_at, seq, s.normed, y, s.reduce);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    s.d_normed = ctx.memory.template take_rows<typename N::value, in>(seq.rows());
    Reduce::backward_input(ctx, w + reduce_at, seq, s.normed, dy, s.d_normed, s.reduce);
    Norm::backward_input(ctx, w, seq, x, s.d_normed, dx, s.norm);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out> dy,
                              saved<N>& s, gradients<N> g) {
    layer::backward_weight<Reduce>(ctx, w + reduce_at, seq, s.normed, dy, s.reduce, g + reduce_at);
    Norm::backward_weight(ctx, w, seq, x, s.d_normed, s.norm, g);
  }
};

template <isize Width>
struct mean_pool {
  static constexpr isize in = Width, out = Width, parameter_size = 0;
  static void parameters(parameter_list&) {}
  template <class N>
  struct saved {};
  template <class N, class C>
  static void reserve(C&, const sequences&, saved<N>&) {}
  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N>, const sequences& seq, view<X, in> x, view<Y, out> y, saved<N>&) {
    mean_forward(ctx, seq, x, y);
    hand_over(ctx, seq);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N>, const sequences& seq, view<X, in>, view<DY, out> dy,
                             view<DX, in> dx, saved<N>&) {
    hand_over(ctx, seq);
    mean_backward(ctx, seq, dy, dx);
  }
};

}  // namespace motet
