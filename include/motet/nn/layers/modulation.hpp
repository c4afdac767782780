// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/linear.hpp>

#include <cassert>

namespace motet {

// Samples may be told something that holds for all of their rows: how noisy they are, what they show. It is
// the first row of each sample, its condition. So it goes where rows go, from stage to stage and from rank to
// rank, and its gradient comes back with theirs. All samples have equally many rows.

// The first rows of all samples: (samples, width).
template <class T, isize Width>
matrix<T> conditions_of(view<T, Width> x, const sequences& seq) {
  assert(seq.offsets == nullptr && seq.length > 0);
  return {x.data, seq.samples, Width, seq.length * x.stride};
}
// The others, where they lie without conditions.
constexpr sequences behind_conditions(const sequences& seq) { return {seq.samples, seq.length - 1, nullptr}; }

// What norms in front of a modulation add to the variance.
inline constexpr double modulated_epsilon = 1e-6;

// A condition tells all rows of its sample Parts rows of numbers, by which they are shifted, scaled or gated:
// a product behind SiLU. It starts as zero, so that a net starts with what it is without (adaLN-zero, Peebles
// and Xie, ICCV'23).
// Asks for: samples of equally many rows, the first of which is the condition.
// Memory: (samples, width) and (samples, Parts x width).
// Errors: MT-N04
// Example:
//   using told = modulation<64, 3>;
//   static_assert(told::parameter_size == 3 * 64 * 64 + 3 * 64);
template <isize Width, isize Parts>
struct modulation {
  using product = linear<Width, Parts * Width>;
  static constexpr isize parameter_size = product::parameter_size;
  static void parameters(parameter_list& list) {
    list.matrix("weight", Parts * Width, Width, {});
    list.vector("bias", Parts * Width, {});
  }

  template <class N>
  struct saved {
    view<typename N::value, Width> active;            // (samples, width), behind SiLU
    view<typename N::master, Parts * Width> parts;    // (samples, parts x width)
    view<typename N::master, Parts * Width> d_parts;  // likewise, between the two parts of backward
    matrix<typename N::master> part(isize first, isize count = 1) const { return of(parts, first, count); }
    matrix<typename N::master> d_part(isize first, isize count = 1) const {
      return of(d_parts, first, count);
    }

   private:
    static matrix<typename N::master> of(matrix<typename N::master> all, isize first, isize count) {
      return all.columns(first * Width, count * Width);
    }
  };
  template <class N, class C>
  static void reserve(C& ctx, const sequences& seq, saved<N>& s) {
    s.active = ctx.memory.template take_rows<typename N::value, Width>(seq.samples);
    s.parts = ctx.memory.template take_rows<typename N::master, Parts * Width>(seq.samples);
  }
  template <class N, class C>
  static void reserve_backward(C& ctx, const sequences& seq, saved<N>& s) {
    s.d_parts = ctx.memory.template take_rows<typename N::master, Parts * Width>(seq.samples);
  }

  // Fills s.parts.
  template <class C, class N, class X>
  static void forward(C& ctx, weights<N> w, const sequences& seq, view<X, Width> x, saved<N>& s) {
    const sequences each = seq.pooled();
    activation_forward(ctx, each, activation::silu, conditions_of(x, seq), s.active);
    linear_forward(ctx, each, s.active, product::weight(w.data), product::bias(w.data), s.parts);
  }
  // Adds to the gradients of the conditions what comes of s.d_parts.
  template <class C, class N, class X, class DX>
  static void backward_input(C& ctx, weights<N> w, const sequences& seq, view<X, Width> x, view<DX, Width> dx,
                             saved<N>& s) {
    const sequences each = seq.pooled();
    const auto d_active = ctx.memory.template take_rows<typename N::master, Width>(seq.samples);
    const matrix<DX> conditions = conditions_of(dx, seq);
    linear_backward_input(ctx, each, s.d_parts, product::weight(w.data), d_active);
    activation_backward(ctx, each, activation::silu, conditions_of(x, seq), d_active, d_active);
    add(ctx, each, conditions, d_active, conditions);
  }
  template <class C, class N>
  static void backward_weight(C& ctx, saved<N>& s, gradients<N> g) {
    linear_backward_weight(ctx, s.active, s.d_parts, product::weight(g.data), product::bias(g.data));
  }
};

}  // namespace motet
