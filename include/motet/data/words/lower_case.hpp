// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/utf8.hpp>

#include <string>
#include <string_view>

namespace motet {

// The small letter of a capital of the Latin (up to U+017F), Greek and Cyrillic alphabets; anything else is
// returned as it is.
constexpr std::uint32_t lower_case(std::uint32_t point) {
  const auto within = [&](std::uint32_t low, std::uint32_t high) { return point >= low && point <= high; };
  if (within('A', 'Z') || (within(0xc0, 0xde) && point != 0xd7) || (within(0x391, 0x3a9) && point != 0x3a2) ||
      within(0x410, 0x42f))
    return point + 32;
  if (within(0x400, 0x40f)) return point + 80;
  // Here capitals and small letters alternate; U+0130 has no single small letter.
  if (within(0x100, 0x12f) || within(0x132, 0x137) || within(0x14a, 0x177)) return point | 1u;
  if (within(0x139, 0x148) || within(0x179, 0x17e)) return point + (point & 1u);
  return point == 0x178 ? 0xffu : point;
}

// Bytes that are not UTF-8 pass unchanged.
inline void append_lower_case(std::string& out, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    const std::size_t length = c < 0x80 ? 1 : utf8_length(text, at);
    if (c < 0x80) {
      out.push_back(static_cast<char>(lower_case(c)));
    } else if (length == 0) {
      out.push_back(text[at]);
    } else {
      append_utf8(out, lower_case(utf8_decode(text, at, length)));
    }
    at += length == 0 ? 1 : length;
  }
}

}  // namespace motet
