// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>

#include <type_traits>

// Gradients of the stream that products read. Where a backend's products take values alone, they would round
// such rows each time that they read them, in a pass of its own. There who writes the rows writes them
// rounded as well, beside them.

namespace motet {

// A function that takes a view gets the rows alone.
template <class T, class V, isize Width>
struct rounded_rows : view<T, Width> {
  view<V, Width> rounded;  // empty where nobody writes them
  constexpr rounded_rows() = default;
  constexpr rounded_rows(view<T, Width> whole, view<V, Width> as_values = {})
      : view<T, Width>(whole), rounded(as_values) {}
};

template <class V, class T, isize Width>
constexpr view<V, Width> rounded_of(const view<T, Width>&) {
  return {};
}
template <class V, class T, isize Width>
constexpr view<V, Width> rounded_of(const rounded_rows<T, V, Width>& rows) {
  return rows.rounded;
}

// Rows of the stream are kept rounded where that spares a pass.
template <class C, class N>
inline constexpr bool keeps_rounded =
    C::spares_passes && !std::is_same_v<typename N::value, typename N::stream>;

// A layer's input part may fill dx.rounded; it says so in L::rounds_gradient.
template <class L>
inline constexpr bool rounds_gradient = requires { requires L::rounds_gradient; };

// Memory beside the rows of a gradient that L writes, or none.
template <class L, class N, class C>
view<typename N::value, L::in> take_rounded(C& ctx, const sequences& seq) {
  if constexpr (keeps_rounded<C, N> && rounds_gradient<L>)
    return ctx.memory.template take_rows<typename N::value, L::in>(seq.rows());
  else return {};
}

}  // namespace motet
