// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

namespace motet {

// 2^64 over the golden ratio: multiples of it lie far apart.
inline constexpr std::uint64_t golden_step = 0x9e3779b97f4a7c15u;

// The last step of SplitMix64 (Steele et al., OOPSLA'14): other numbers for other numbers, and each bit of
// them depends on all bits.
MOTET_HOST_DEVICE constexpr std::uint64_t mixed_bits(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace motet
