// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/kept_outputs.hpp>
#include <motet/nn/layers/modulation.hpp>

namespace motet {

// y = x + gate * inner(norm(x) * (1 + scale) + shift), where shift, scale and gate are what the sample's
// condition tells (adaLN-zero). The norm has no gain or bias of its own. The condition goes on as it is, and
// inner does not see it. The norm's output is made again in backward unless outputs are kept.
// Asks for: a layer as wide at its end as at its beginning; samples of equally many rows, the first of which
// is the condition.
// Memory: what inner keeps, (rows, width) behind it, two numbers a row, and five times (samples, width);
// (rows, width) more where outputs are kept; in backward three times (rows, width) more, or two.
// Errors: MT-N05
// Example:
//   #include <motet/nn/layers/mlp.hpp>
//   using told = adaptive<mlp<192, 768, activation::gelu_tanh>>;
//   static_assert(told::in == 192 && told::out == 192);
template <class Inner>
struct adaptive {
  static_assert(Inner::in == Inner::out, "motet: a residual branch must keep the width [MT-N05]");
  static constexpr isize in = Inner::in, out = Inner::in;
  using told = modulation<in, 3>;  // shift, scale, gate
  static constexpr isize inner_at = told::parameter_size;
  static constexpr isize parameter_size = inner_at + Inner::parameter_size;

  static void parameters(parameter_list& list) {
    list.child<told>("modulation");
    list.part<Inner>();
  }

  template <class N>
  struct saved {
    typename told::template saved<N> condition;
    typename Inner::template saved<N> inner;
    view<typename N::master, 2> stats;   // (rows, mean and 1 / deviation)
    view<typename N::value, in> branch;  // (rows, width), before the gate
    view<typename N::value, in> normed;  // (rows, width), from forward on or from the input part of backward
    view<typename N::value, in> d_normed, d_branch;  // (rows, width), between the two parts of backward
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    const sequences rows = behind_conditions(seq);
    told::template reserve<N>(ctx, seq, s.condition);
    s.stats = ctx.memory.template take_rows<typename N::master, 2>(rows.rows());
    s.branch = take<N>(ctx, rows);
    if (keeps_outputs(ctx)) s.normed = take<N>(ctx, rows);
    layer::reserve<Inner, N>(ctx, rows, s.inner, {});
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    const sequences rows = behind_conditions(seq);
    const isize mark = ctx.memory.mark();
    const auto normed = keeps_outputs(ctx) ? s.normed : take<N>(ctx, rows);
    told::forward(ctx, w, seq, x, s.condition);
    modulated_norm_forward(ctx, seq, x, s.condition.part(shift_and_scale, 2), modulated_epsilon, normed,
                           s.stats);
    Inner::forward(ctx, layer::part<Inner>(w, inner_at), rows, normed, s.branch, s.inner);
    gated_add_forward(ctx, seq, x, s.branch, s.condition.part(gate), y);
    release(ctx, mark);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    const sequences rows = behind_conditions(seq);
    told::reserve_backward(ctx, seq, s.condition);
    view<typename N::value, in> again;
    if (!keeps_outputs(ctx)) s.normed = again = take<N>(ctx, rows);
    s.d_normed = take<N>(ctx, rows);
    s.d_branch = take<N>(ctx, rows);
    gated_add_backward(ctx, seq, s.branch, s.condition.part(gate), dy, s.d_branch, s.condition.d_part(gate));
    Inner::backward_input(ctx, layer::part<Inner>(w, inner_at), rows, view<const typename N::value, in>{},
                          s.d_branch, s.d_normed, s.inner);
    modulated_norm_backward(ctx, seq, x, s.condition.part(shift_and_scale, 2), s.stats, s.d_normed, dy, dx,
                            s.condition.d_part(shift_and_scale, 2), again);
    told::backward_input(ctx, w, seq, x, dx, s.condition);
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out>,
                              saved<N>& s, gradients<N> g) {
    Inner::backward_weight(ctx, layer::part<Inner>(w, inner_at), behind_conditions(seq), s.normed, s.d_branch,
                           s.inner, layer::part<Inner>(g, inner_at));
    told::backward_weight(ctx, s.condition, g);
  }

 private:
  static constexpr isize shift_and_scale = 0, gate = 2;

  template <class N, class C>
  static view<typename N::value, in> take(C& ctx, const sequences& rows) {
    return ctx.memory.template take_rows<typename N::value, in>(rows.rows());
  }
};

}  // namespace motet
