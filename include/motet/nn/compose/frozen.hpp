// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>

namespace motet {

// A net whose weights stay as they are: it has no gradient and no optimizer state, and it runs forward
// without keeping anything.
// Asks for: any net or layer.
// Memory: the weights alone; nothing is kept between forward and backward.
// Errors: none of its own.
// Example:
//   #include <motet/nn/layers/linear.hpp>
//   using still = frozen<linear<64, 32>>;
//   static_assert(is_frozen<still> && still::parameter_size == linear<64, 32>::parameter_size);
template <class Net>
struct frozen : Net {
  static constexpr bool is_frozen = true;
};

template <class Net>
inline constexpr bool is_frozen = [] {
  if constexpr (requires { Net::is_frozen; }) return Net::is_frozen;
  else return false;
}();

}  // namespace motet
