// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>

namespace motet::laws {

// A whole run has many cases of one kind under two sanitizers, where each case needs but one of them:
// MOTET_TEST_HALF=0 tries those with an even number, 1 the others, and all are tried without it. tests/run.sh
// sets it where both sanitizers are.
inline bool in_our_half(std::uint64_t number) {
  static const char* const half = std::getenv("MOTET_TEST_HALF");
  return half == nullptr || number % 2 == (half[0] == '1' ? 1 : 0);
}

}  // namespace motet::laws
