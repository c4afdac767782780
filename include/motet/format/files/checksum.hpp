// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace motet {

namespace detail {

inline constexpr std::uint64_t xxh64_prime[] = {11400714785074694791u, 14029467366897019727u,
                                                1609587929392839161u, 9650029242287828579u,
                                                2870177450012600261u};

constexpr std::uint64_t xxh64_round(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * xxh64_prime[1], 31) * xxh64_prime[0];
}

template <class Word>
Word load_word(const std::byte* from) {
  static_assert(std::endian::native == std::endian::little,
                "motet: files are little-endian, and so must be the machine");
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

}  // namespace detail

// XXH64 (xxHash, 64 bits): notices damaged bytes at memory speed. It is no defence against somebody who
// damages them on purpose.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0);
inline std::uint64_t checksum(std::string_view text, std::uint64_t seed = 0) {
  return checksum(std::as_bytes(std::span(text)), seed);
}

// Files hold a checksum as 16 hexadecimal digits.
inline std::string checksum_text(std::uint64_t value) {
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) out[i] = "0123456789abcdef"[value & 15];
  return out;
}

#if !defined(MOTET_COMPILED_DATA)
MOTET_BODY std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) {
  constexpr auto& prime = detail::xxh64_prime;
  const std::byte *at = bytes.data(), *const end = at + bytes.size();
  std::uint64_t hash = seed + prime[4];
  if (bytes.size() >= 32) {
    std::uint64_t lane[4] = {seed + prime[0] + prime[1], seed + prime[1], seed, seed - prime[0]};
    for (; end - at >= 32; at += 32) {
      for (int i = 0; i < 4; ++i)
        lane[i] = detail::xxh64_round(lane[i], detail::load_word<std::uint64_t>(at + 8 * i));
    }
    hash = std::rotl(lane[0], 1) + std::rotl(lane[1], 7) + std::rotl(lane[2], 12) + std::rotl(lane[3], 18);
    for (const std::uint64_t value : lane)
      hash = (hash ^ detail::xxh64_round(0, value)) * prime[0] + prime[3];
  }
  hash += bytes.size();
  for (; end - at >= 8; at += 8)
    hash = std::rotl(hash ^ detail::xxh64_round(0, detail::load_word<std::uint64_t>(at)), 27) * prime[0] +
           prime[3];
  for (; end - at >= 4; at += 4)
    hash = std::rotl(hash ^ (detail::load_word<std::uint32_t>(at) * prime[0]), 23) * prime[1] + prime[2];
  for (; at != end; ++at)
    hash = std::rotl(hash ^ (std::to_integer<std::uint64_t>(*at) * prime[4]), 11) * prime[0];
  hash = (hash ^ (hash >> 33)) * prime[1];
  hash = (hash ^ (hash >> 29)) * prime[2];
  return hash ^ (hash >> 32);
}
#endif

}  // namespace motet
