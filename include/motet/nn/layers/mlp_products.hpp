// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/cut_rows.hpp>
#include <motet/nn/layers/linear.hpp>

namespace motet {

// The two products of an mlp, whatever stands between them: one widens to `Parts` numbers for each hidden
// unit, the other narrows. Tensor parallelism cuts the hidden units.
template <isize Width, isize Hidden, isize Parts, bool Bias>
struct mlp_products {
  static constexpr isize in = Width, out = Width;
  using widen = linear<Width, Parts * Hidden, Bias>;
  using narrow = linear<Hidden, Width, Bias>;
  static constexpr isize parameter_size = widen::parameter_size + narrow::parameter_size;
  static constexpr isize hidden(tensor_cut cut) { return cut.share(Hidden).size(); }
  static constexpr isize narrow_at(tensor_cut cut) { return widen::held_size(in, Parts * hidden(cut)); }
  static constexpr isize size(tensor_cut cut) { return narrow_at(cut) + narrow::held_size(hidden(cut), out); }

 protected:
  // The parts of a unit lie apart, each beside the same part of the other units.
  static void list_products(parameter_list& list, std::string_view widening, std::string_view narrowing) {
    const interval held = list.cut().share(Hidden);
    std::vector<interval> rows;
    for (isize part = 0; part < Parts; ++part)
      rows.push_back({part * Hidden + held.begin, part * Hidden + held.end});
    list.child_rows<widen>(widening, std::move(rows));
    list.child_columns<narrow>(narrowing, held);
  }
  // The parts are those of weights, or of gradients.
  template <class W>
  static auto widen_weight(W w) {
    return widen::weight(w.data, in, Parts * hidden(w.cut));
  }
  template <class W>
  static auto widen_bias(W w) {
    return widen::bias(w.data, in, Parts * hidden(w.cut));
  }
  template <class W>
  static auto narrow_weight(W w) {
    return narrow::weight(w.data + narrow_at(w.cut), hidden(w.cut), out);
  }
  template <class W>
  static auto narrow_bias(W w) {
    return narrow::bias(w.data + narrow_at(w.cut), hidden(w.cut), out);
  }
  // y = residual + narrow(between(samples, widened)), of the rows of all members if the layer is cut. Called
  // once with product(samples, rows, these rows of x), widened makes it of all rows and returns x;
  // more(samples, rows, these of what was narrowed, and of what came out) may add to y.
  template <class C, class N, class X, class R, class Y, class Between, class More = cut_rows::nothing_more>
  static void add_narrowed(C& ctx, weights<N> w, const sequences& seq, view<X, in> x, view<R, out> residual,
                           view<Y, out> y, Between&& between, More&& more = {}) {
    const isize mark = ctx.memory.mark();
    if (w.cut.whole()) {
      const matrix<typename N::value> after = between(seq, [&](auto&& product) {
        product(seq, interval{0, x.rows}, matrix<X>(x));
        return matrix<X>(x);
      });
      linear_forward(ctx, seq, after, narrow_weight(w), narrow_bias(w), residual, y);
      more(seq, interval{0, y.rows}, after, matrix<Y>(y));
    } else {
      const matrix<typename N::value> after = between(rows_of_all(ctx), [&](auto&& product) {
        return matrix<typename N::value>(cut_rows::gather_for<typename N::value>(ctx, x, product));
      });
      constexpr bool adds = !std::is_same_v<std::remove_cvref_t<More>, cut_rows::nothing_more>;
      cut_rows::forward_sum(ctx, w.cut, after, narrow_weight(w), narrow_bias(w), residual, y,
                            cut_rows::more_if<adds>([&](const sequences& some, interval rows, auto partial) {
                              more(some, rows, cut_rows::some_rows(after, rows), partial);
                            }));
    }
    release(ctx, mark);
  }
  // Computes backward from the gradient before, and the value after what stands between; dy_all is dy of all
  // members, where the layer is cut.
  template <class C, class N, class X, class DY, class Value>
  static void add_weight_gradients(C& ctx, tensor_cut cut, view<X, in> x, matrix<Value> d_pre,
                                   matrix<Value> after, view<DY, out> dy, view<Value, out> dy_all,
                                   gradients<N> g) {
    if (cut.whole()) {
      linear_backward_weight(ctx, x, d_pre, widen_weight(g), widen_bias(g));
      linear_backward_weight(ctx, after, dy, narrow_weight(g), narrow_bias(g));
    } else {
      const isize mark = ctx.memory.mark();
      const auto all = cut_rows::gather_beside<Value>(ctx, x, [&] {
        linear_backward_weight(ctx, after, dy_all, narrow_weight(g), nullptr);
        linear_backward_bias(ctx, dy, narrow_bias(g));
      });
      linear_backward_weight(ctx, all, d_pre, widen_weight(g), widen_bias(g));
      release(ctx, mark);
    }
  }
};

}  // namespace motet
