// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>

namespace motet {

// A net whose weights stay as they are: it has no gradient and no optimizer state, and it runs forward
// without keeping anything.
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
