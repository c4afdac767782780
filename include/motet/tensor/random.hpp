// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <cmath>
#include <string_view>

namespace motet {

// Counter-based random numbers (Philox 4x32-10, Salmon et al., SC'11): the value depends on (seed, name,
// index) alone, never on how many were drawn before, so every plan and every thread count draws the same.
struct random_stream {
  std::uint64_t seed = 0;
  std::uint64_t name = 0;

  constexpr random_stream(std::uint64_t seed_value, std::string_view stream_name)
      : seed(seed_value), name(hash(stream_name)) {}
  MOTET_HOST_DEVICE constexpr random_stream(std::uint64_t seed_value, std::uint64_t stream_key)
      : seed(seed_value), name(stream_key) {}

  // FNV-1a, 64 bits.
  static constexpr std::uint64_t hash(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325ull;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    return h;
  }

  // std::array cannot be indexed in device code.
  struct words {
    std::uint32_t at[4];
    MOTET_HOST_DEVICE constexpr std::uint32_t operator[](std::size_t i) const { return at[i]; }
    constexpr bool operator==(const words&) const = default;
  };

  // Four words for block `counter`.
  MOTET_HOST_DEVICE constexpr words block(std::uint64_t counter) const {
    words c{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
            static_cast<std::uint32_t>(name), static_cast<std::uint32_t>(name >> 32)};
    std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = 0xD2511F53ull * c[0], p1 = 0xCD9E8D57ull * c[2];
      c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
           static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return c;
  }
  MOTET_HOST_DEVICE constexpr std::uint32_t word(std::uint64_t i) const { return block(i / 4)[i % 4]; }
  // A uniform number is in [0, 1) and has 24 bits.
  MOTET_HOST_DEVICE constexpr float uniform(std::uint64_t i) const {
    return static_cast<float>(word(i) >> 8) * 0x1p-24f;
  }
  // A number in [0, bound), bound < 2^32; the multiply-shift bias is below 2^-32 for each value.
  MOTET_HOST_DEVICE constexpr std::uint32_t below(std::uint64_t i, std::uint32_t bound) const {
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(word(i)) * bound) >> 32);
  }
  // A standard normal number comes by Box-Muller from words 2i and 2i+1.
  double normal(std::uint64_t i) const;
};

#if !defined(MOTET_COMPILED_KERNELS)
MOTET_BODY double random_stream::normal(std::uint64_t i) const {
  const auto b = block(i / 2);
  const double u = (static_cast<double>(b[(i % 2) * 2]) + 1.0) * 0x1p-32,
               v = static_cast<double>(b[(i % 2) * 2 + 1]) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586476925 * v);
}
#endif

}  // namespace motet
