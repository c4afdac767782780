// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace motet {

// Bytes of the well-formed character at `at` (1 to 4), or 0: over-long forms, surrogates, values beyond
// U+10FFFF and cut sequences are not characters.
constexpr std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const auto tail = [&](std::size_t i) { return within(i, 0x80, 0xbf); };
  if (at >= text.size()) return 0;
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead == 0xe0) return within(1, 0xa0, 0xbf) && tail(2) ? 3 : 0;
  if (lead == 0xed) return within(1, 0x80, 0x9f) && tail(2) ? 3 : 0;
  if (lead >= 0xe1 && lead <= 0xef) return tail(1) && tail(2) ? 3 : 0;
  if (lead == 0xf0) return within(1, 0x90, 0xbf) && tail(2) && tail(3) ? 4 : 0;
  if (lead >= 0xf1 && lead <= 0xf3) return tail(1) && tail(2) && tail(3) ? 4 : 0;
  if (lead == 0xf4) return within(1, 0x80, 0x8f) && tail(2) && tail(3) ? 4 : 0;
  return 0;
}

// The code point of a character whose length is known to be right.
constexpr std::uint32_t utf8_decode(std::string_view text, std::size_t at, std::size_t length) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i]));
  };
  if (length == 1) return byte(0);
  std::uint32_t point = byte(0) & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) point = (point << 6) | (byte(i) & 0x3fu);
  return point;
}

// Position of the first byte that is not part of a character, or npos.
constexpr std::size_t utf8_first_bad(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

inline void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&](std::uint32_t value) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(value)));
  };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | (point >> 6));
    put(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    put(0xe0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  } else {
    put(0xf0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3f));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  }
}

}  // namespace motet
