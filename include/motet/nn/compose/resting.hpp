// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>

namespace motet {

// A layer whose weights stay as they are inside of a net that learns by adapters: gradients go through it,
// and nothing of it learns, so its weight part does nothing and asks for nothing.
// Asks for: a layer, an embedding or a tail, with a backward_input of its own.
// Memory: what the layer keeps for its input part.
// Errors: none of its own.
// Example:
//   #include <motet/nn/layers/norm.hpp>
//   using still = resting<rms_norm<64>>;
//   static_assert(rests<still> && still::parameter_size == rms_norm<64>::parameter_size);
template <class L>
struct resting : L {
  static constexpr bool rests = true;

  // A norm is asked for no sums of gradients.
  template <class C, class Rows, class Saved>
  static void reserve_backward(C&, const Rows&, Saved&) {}
  template <class C, class N, class... Of>
  static void backward_weight(C&, weights<N>, const Of&...) {}
  // A tail has both parts in one.
  template <class C, class N, class Rows, class X, class DY, class DX, class Saved>
  static void backward(C& ctx, weights<N> w, const Rows& rows, X x, DY dy, DX dx, Saved& s, gradients<N>) {
    const isize mark = ctx.memory.mark();
    L::backward_input(ctx, w, rows, x, dy, dx, s);
    release(ctx, mark);
  }
};

// A layer as it is, or resting where a net has adapters.
template <class L, bool Rests>
using resting_if = std::conditional_t<Rests, resting<L>, L>;

}  // namespace motet
