// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/fixed_string.hpp>
#include <motet/nn/core/layer.hpp>
#include <motet/tensor/random.hpp>

namespace motet {

// A number as a template argument: clang before 18 takes floats only inside of a type.
struct drop_rate {
  float value;
  consteval drop_rate(float of) : value(of) {}
};

// Keeps each number with probability 1 - Rate, scaled by 1 / (1 - Rate). What is kept follows from the seed,
// the step, Key and the global row and column, so backward and a recomputed forward draw the same again and
// nothing is stored. Key tells the places in a net apart; two places with one Key drop alike. While the
// context evaluates, rows pass unchanged.
// Asks for: a rate in [0, 1) and a key of its own for each place in a net.
// Memory: nothing: backward draws the same again.
// Errors: MT-N04
// Example:
//   using drop = dropout<192, 0.1f, "behind the embedding">;
//   static_assert(drop::parameter_size == 0);
template <isize Width, drop_rate Rate, fixed_string Key>
struct dropout {
  static_assert(Width > 0, "motet: sizes of a net must be positive [MT-N04]");
  static_assert(Rate.value >= 0 && Rate.value < 1, "motet: a dropout rate lies in [0, 1)");
  static constexpr isize in = Width, out = Width, parameter_size = 0;
  static constexpr double rate = static_cast<double>(Rate.value);
  static constexpr std::uint64_t key = random_stream::hash(Key.view());
  static void parameters(parameter_list&) {}

  template <class N>
  struct saved {};
  template <class N, class C>
  static void reserve(C&, const sequences&, saved<N>&) {}

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N>, const sequences& seq, view<X, Width> x, view<Y, Width> y,
                      saved<N>&) {
    dropout_apply(ctx, seq, rate, key, x, y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N>, const sequences& seq, view<X, Width>, view<DY, Width> dy,
                             view<DX, Width> dx, saved<N>&) {
    dropout_apply(ctx, seq, rate, key, dy, dx);
  }
};

}  // namespace motet
