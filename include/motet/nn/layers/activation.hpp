// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>

namespace motet {

// y = activation(x), a layer of its own. After a linear layer, prefer linear<In, Out, Bias, Act>, which does
// it in the product's epilogue.
// Asks for: rows of any width.
// Memory: nothing.
// Errors: MT-N04
// Example:
//   using gelu = activate<192, activation::gelu>;
//   static_assert(gelu::in == gelu::out && gelu::parameter_size == 0);
template <isize Width, activation Act>
struct activate {
  static_assert(Width > 0, "motet: sizes of a net must be positive [MT-N04]");
  static constexpr isize in = Width, out = Width, parameter_size = 0;
  static void parameters(parameter_list&) {}

  template <class N>
  struct saved {};
  template <class N, class C>
  static void reserve(C&, const sequences&, saved<N>&) {}

  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N>, const sequences& seq, view<X, Width> x, view<Y, Width> y,
                      saved<N>&) {
    activation_forward(ctx, seq, Act, x, y);
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N>, const sequences& seq, view<X, Width> x, view<DY, Width> dy,
                             view<DX, Width> dx, saved<N>&) {
    activation_backward(ctx, seq, Act, x, dy, dx);
  }
};

}  // namespace motet
