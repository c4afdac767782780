// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace motet {

// What a rank waits for inside an operation.
enum class wait_for : std::uint8_t {
  rows,      // of others of its groups, asked for before
  gather,    // rows of all
  sum,       // of what all made
  exchange,  // rows change places
  weights    // of a layer, from their owners
};
inline constexpr int waits_for = 5;

constexpr const char* name_of(wait_for what) {
  constexpr const char* names[waits_for] = {"rows", "gathered rows", "a sum", "exchanged rows", "weights"};
  return names[static_cast<int>(what)];
}

}  // namespace motet
