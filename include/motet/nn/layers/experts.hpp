// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/routing.hpp>
#include <motet/nn/layers/linear.hpp>

namespace motet {

struct expert_config {
  isize width = 0;
  isize experts = 0;
  isize hidden = 0;  // of one expert
  activation act = activation::gelu;
  bool gated = false;  // SwiGLU instead of act
};

// Many small nets of two products side by side, without bias: widen, activate, narrow. Rows lie in order of
// the experts that they go to; what goes into a gate's gradient comes out with that of the rows. Experts are
// cut whole: expert e is rows [e * hidden, (e + 1) * hidden) of the first matrix.
template <expert_config Config>
struct experts {
  static constexpr isize in = Config.width, out = Config.width, count = Config.experts,
                         hidden = Config.hidden;
  static constexpr isize wide = Config.gated ? 2 * hidden : hidden;  // gate | up, or what is activated
  using widen = linear<in, count * wide, false>;
  using narrow = linear<hidden, count * out, false>;
  static constexpr isize held(tensor_cut cut) { return cut.of_experts().share(count).size(); }
  static constexpr isize narrow_at(tensor_cut cut) { return parameter_space(held(cut) * wide * in); }
  static constexpr isize size(tensor_cut cut) {
    return narrow_at(cut) + parameter_space(held(cut) * out * hidden);
  }
  static constexpr isize parameter_size = size({});

  static void parameters(parameter_list& list) {
    const interval here = list.cut().of_experts().share(count);
    list.stacked(count, [&] {
      list.child_rows<widen>(Config.gated ? "gate_up" : "up", {{here.begin * wide, here.end * wide}});
      list.child_rows<narrow>("down", {{here.begin * out, here.end * out}});
    });
  }

  template <class N>
  struct saved {
    // (positions, wide), before the activation; the input part of backward turns it into its gradient
    view<typename N::value, wide> pre;
    // (positions, hidden), weighed with the gate, between the two parts of backward
    view<typename N::value, hidden> after;
  };
  template <class N, class C>
  static void reserve(C& ctx, isize positions, saved<N>& s) {
    s.pre = ctx.memory.template take_rows<typename N::value, wide>(positions);
  }

  // y may be the memory of x.
  template <class C, class N, class X>
  static void forward(C& ctx, weights<N> w, const grouping& by, view<X, in> x, view<X, out> y, saved<N>& s) {
    const isize mark = ctx.memory.mark();
    const auto after = activated(ctx, w, by, x, s);
    grouped_linear_forward(ctx, by, after, down(w), filled(y, by));
    release(ctx, mark);
  }
  template <class N, class C>
  static void reserve_backward(C& ctx, saved<N>& s) {
    s.after = ctx.memory.template take_rows<typename N::value, hidden>(s.pre.rows);
  }
  // dy is not weighed with the gates yet.
  template <class C, class N, class DY>
  static void backward_input(C& ctx, weights<N> w, const grouping& by,
                             matrix<choice<typename N::master>> chosen, view<DY, out> dy, view<DY, in> dx,
                             typename N::master* d_gate, saved<N>& s) {
    using value = typename N::value;
    const isize mark = ctx.memory.mark();
    const auto pre = filled(s.pre, by);
    const auto after = filled(s.after, by),
               d_after = filled(ctx.memory.template take_rows<value, hidden>(s.pre.rows), by);
    grouped_linear_backward_input(ctx, by, filled(dy, by), down(w), d_after);
    if constexpr (Config.gated) swiglu_forward(ctx, by.each(), pre, after);
    else activation_forward(ctx, by.each(), Config.act, pre, after);
    gate_backward(ctx, by, chosen, after, d_after, d_gate);
    if constexpr (Config.gated) swiglu_backward(ctx, by.each(), pre, d_after, pre);
    else activation_backward(ctx, by.each(), Config.act, pre, d_after, pre);
    grouped_linear_backward_input(ctx, by, pre, up(w), filled(dx, by));
    release(ctx, mark);
  }
  template <class C, class N, class X>
  static void backward_weight(C& ctx, const grouping& by, view<X, in> x, view<X, out> dy, saved<N>& s,
                              gradients<N> g) {
    grouped_linear_backward_weight(ctx, by, filled(x, by), filled(s.pre, by), up(g));
    grouped_linear_backward_weight(ctx, by, filled(s.after, by), filled(dy, by), down(g));
  }

 private:
  template <class W>
  static auto up(W w) {
    return matrix<std::remove_pointer_t<decltype(w.data)>>{w.data, held(w.cut) * wide, in, in};
  }
  template <class W>
  static auto down(W w) {
    return matrix<std::remove_pointer_t<decltype(w.data)>>{w.data + narrow_at(w.cut), held(w.cut) * out,
                                                           hidden, hidden};
  }
  // Memory that no row came to is left out.
  template <class T, isize Width>
  static view<T, Width> filled(view<T, Width> x, const grouping& by) {
    return x.slice(0, by.count);
  }
  template <class C, class N, class X>
  static view<typename N::value, hidden> activated(C& ctx, weights<N> w, const grouping& by, view<X, in> x,
                                                   saved<N>& s) {
    const auto after = filled(ctx.memory.template take_rows<typename N::value, hidden>(s.pre.rows), by);
    if constexpr (Config.gated) {
      grouped_linear_forward(ctx, by, filled(x, by), up(w), filled(s.pre, by));
      swiglu_forward(ctx, by.each(), filled(s.pre, by), after);
    } else {
      grouped_linear_forward(ctx, by, filled(x, by), up(w), Config.act, filled(s.pre, by), after);
    }
    return after;
  }
};

}  // namespace motet
