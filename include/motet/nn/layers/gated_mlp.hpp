// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/kept_outputs.hpp>
#include <motet/nn/layers/adapters.hpp>
#include <motet/nn/layers/mlp_products.hpp>

namespace motet {

// SwiGLU (Shazeer 2020): y = down(silu(gate(x)) * up(x)). One product makes gate and up side by side; only
// they are kept, unless outputs are (kept_outputs.hpp). Tensor parallelism cuts the hidden units.
// Asks for: rows of any width.
// Memory: (rows, 2 Hidden), gate and up, and (rows, Hidden) where outputs are kept; a tensor member its share
// of the hidden units.
// Errors: MT-N04
// Example:
//   using gated = gated_mlp<192, 512, false>;
//   static_assert(gated::parameter_size == 3 * 192 * 512);
template <isize Width, isize Hidden, bool Bias = true, adapter_config Adapters = adapter_config{}>
struct gated_mlp : mlp_products<Width, Hidden, 2, Bias> {
  using products = mlp_products<Width, Hidden, 2, Bias>;
  using products::hidden, products::in, products::out;

  static constexpr bool adapted = Adapters.any();
  using wide_adapters =
      product_adapters<Width, Adapters, adapted_of(Adapters, {0, Hidden}, {Hidden, 2 * Hidden}), "gate_up">;
  using narrow_adapters =
      product_adapters<Hidden, Adapters, adapted_outputs{}.with(Adapters.down, {0, Width}), "down">;
  static constexpr isize adapter_size = wide_adapters::size + narrow_adapters::size;
  static constexpr adapted_part wide_held(tensor_cut cut) {
    const isize units = hidden(cut);
    return {Width, adapted_of(Adapters, {0, units}, {units, 2 * units})};
  }
  static constexpr adapted_part narrow_held(tensor_cut cut) {
    return {hidden(cut), narrow_adapters::whole.outputs};
  }
  static constexpr isize narrow_adapters_at(tensor_cut cut) { return wide_adapters::size_of(wide_held(cut)); }
  static constexpr isize held_adapters(tensor_cut cut) {
    return narrow_adapters_at(cut) + narrow_adapters::size_of(narrow_held(cut));
  }

  static void parameters(parameter_list& list) {
    products::list_products(list, "gate_up", "down");
    const interval held = list.cut().share(Hidden);
    wide_adapters::parameters(list, "gate_up",
                              adapted_of(Adapters, held, {Hidden + held.begin, Hidden + held.end}));
    narrow_adapters::parameters(list, "down", held);
  }

  template <class N>
  struct saved {
    // (rows, gate | up); the input part of backward turns it into its gradient
    matrix<typename N::value> pre;
    // (rows, hidden), from forward on or between the two parts of backward
    matrix<typename N::value> gated;
    view<typename N::value, out> dy_all;  // (rows, width) of all members, likewise, where the layer is cut
    typename wide_adapters::template saved<N> adapted_wide;
    typename narrow_adapters::template saved<N> adapted_narrow;
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s, tensor_cut cut = {}) {
    const sequences rows = cut.whole() ? seq : rows_of_all(ctx);
    s.pre = cut_rows::take<typename N::value>(ctx, rows, 2 * hidden(cut));
    if (keeps_outputs(ctx)) s.gated = cut_rows::take<typename N::value>(ctx, rows, hidden(cut));
    wide_adapters::template reserve<N>(ctx, rows, s.adapted_wide);
    narrow_adapters::template reserve<N>(ctx, rows, s.adapted_narrow);
  }

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<Y, out> y,
                      saved<N>& s) {
    forward_add(ctx, w, seq, x, view<const Y, out>{}, y, s);
  }
  template <class C, class N, class X, class R, class Y>
  static void forward_add(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<R, out> residual,
                          view<Y, out> y, saved<N>& s) {
    products::add_narrowed(
        ctx, w, seq, x, residual, y,
        [&](const sequences& rows, auto&& widened) { return product(ctx, w, rows, widened, s); },
        cut_rows::more_if<adapted>([&](const sequences& some, interval rows, auto gated, auto narrowed) {
          narrow_adapters::forward(ctx, narrow_held(w.cut), w.adapters + narrow_adapters_at(w.cut), w.block,
                                   some, rows, gated, narrowed, s.adapted_narrow);
        }));
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, in>, view<DY, out> dy,
                             view<DX, in> dx, saved<N>& s) {
    if (w.cut.whole()) {
      slopes(ctx, w, seq, matrix<DY>(dy), s, [&](auto&& product) {
        product(seq, interval{0, dy.rows}, matrix<DY>(dy));
      });
      wide_adapters::template reserve_backward<N>(ctx, seq, s.adapted_wide);
      linear_backward_input(ctx, seq, s.pre, widen_weight(w), dx);
      add_wide_backward(ctx, w, seq, {0, dx.rows}, matrix<DX>(dx), s);
    } else {
      s.dy_all = cut_rows::room<typename N::value, out>(ctx);
      slopes(ctx, w, rows_of_all(ctx), matrix<typename N::value>(s.dy_all), s,
             [&](auto&& product) { cut_rows::gather_for(ctx, dy, s.dy_all, product); });
      wide_adapters::template reserve_backward<N>(ctx, rows_of_all(ctx), s.adapted_wide);
      cut_rows::backward_sum(
          ctx, s.pre, widen_weight(w), dx,
          cut_rows::more_if<adapted>([&](const sequences& some, interval rows, auto partial) {
            add_wide_backward(ctx, w, some, rows, partial, s);
          }));
    }
  }
  template <class C, class N, class X, class DY>
  static void backward_weight(C& ctx, weights<N> w, [[maybe_unused]] const sequences& seq, view<X, in> x,
                              view<DY, out> dy, saved<N>& s, gradients<N> g) {
    if constexpr (adapted) {
      const auto add = [&](const sequences& rows, const auto& from, const auto& d) {
        wide_adapters::backward_weight(ctx, wide_held(w.cut), w.block, rows, matrix(from), s.pre,
                                       s.adapted_wide, g.adapters);
        narrow_adapters::backward_weight(ctx, narrow_held(w.cut), w.block, rows, s.gated, matrix(d),
                                         s.adapted_narrow, g.adapters + narrow_adapters_at(w.cut));
      };
      if (w.cut.whole()) return add(seq, x, dy);
      const isize mark = ctx.memory.mark();
      add(rows_of_all(ctx), cut_rows::gather<typename N::value>(ctx, x), s.dy_all);
      release(ctx, mark);
    } else {
      products::add_weight_gradients(ctx, w.cut, x, s.pre, s.gated, dy, s.dy_all, g);
    }
  }

 private:
  using products::narrow_weight, products::widen_weight, products::widen_bias;

  template <class C, class N, class Widened>
  static matrix<typename N::value> product(C& ctx, weights<N> w, const sequences& seq, Widened&& widened,
                                           saved<N>& s) {
    const matrix<typename N::value> gated =
        keeps_outputs(ctx) ? s.gated : cut_rows::take<typename N::value>(ctx, seq, hidden(w.cut));
    [[maybe_unused]] const auto x = widened([&](const sequences& some, interval rows, auto of) {
      linear_forward(ctx, some, of, widen_weight(w), widen_bias(w), cut_rows::some_rows(s.pre, rows));
    });
    wide_adapters::forward(ctx, wide_held(w.cut), w.adapters, w.block, seq, x, s.pre, s.adapted_wide);
    swiglu_forward(ctx, seq, s.pre, gated);
    return gated;
  }
  template <class C, class N, class DX>
  static void add_wide_backward(C& ctx, weights<N> w, const sequences& some, interval rows, matrix<DX> dx,
                                saved<N>& s) {
    wide_adapters::backward_input(ctx, wide_held(w.cut), w.adapters, w.block, some, rows,
                                  cut_rows::some_rows(s.pre, rows), dx, s.adapted_wide);
  }
  // Turns s.pre into its gradient, and makes s.gated again where it is not kept. Called with a product,
  // narrowed makes it of the rows of dy.
  template <class C, class N, class DY, class Narrowed>
  static void slopes(C& ctx, weights<N> w, const sequences& seq, matrix<DY> dy, saved<N>& s,
                     Narrowed&& narrowed) {
    using value = typename N::value;
    if (!keeps_outputs(ctx)) s.gated = cut_rows::take<value>(ctx, seq, hidden(w.cut));
    narrow_adapters::template reserve_backward<N>(ctx, seq, s.adapted_narrow);
    const isize mark = ctx.memory.mark();
    const auto d_gated = cut_rows::take<value>(ctx, seq, hidden(w.cut));
    if (!keeps_outputs(ctx)) swiglu_forward(ctx, seq, s.pre, s.gated);
    narrowed([&](const sequences& some, interval rows, auto of) {
      linear_backward_input(ctx, some, of, narrow_weight(w), cut_rows::some_rows(d_gated, rows));
    });
    narrow_adapters::backward_input(ctx, narrow_held(w.cut), w.adapters + narrow_adapters_at(w.cut), w.block,
                                    seq, dy, d_gated, s.adapted_narrow);
    swiglu_backward(ctx, seq, s.pre, d_gated, s.pre);
    release(ctx, mark);
  }
};

}  // namespace motet
