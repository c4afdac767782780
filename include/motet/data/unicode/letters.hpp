// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace motet {

// The regular expressions of vocabularies tell these kinds of characters apart: \p{L}, \p{N}, \s, or none of
// these.
enum class letter_kind { space, letter, digit, mark };

namespace detail {

struct code_range {
  std::uint32_t first, last;
};
inline constexpr code_range letter_ranges[] = {
#include <motet/data/unicode/letters.inc>
};
inline constexpr code_range number_ranges[] = {
#include <motet/data/unicode/numbers.inc>
};

template <std::size_t Count>
constexpr bool is_within(const code_range (&ranges)[Count], std::uint32_t point) {
  const code_range* const above =
      std::upper_bound(ranges, ranges + Count, point,
                       [](std::uint32_t p, const code_range& range) { return p < range.first; });
  return above != ranges && point <= above[-1].last;
}

}  // namespace detail

// A Unicode code point is one of these kinds.
constexpr letter_kind kind_of_letter(std::uint32_t point) {
  if (point < 0x80) {
    if (point == ' ' || (point >= '\t' && point <= '\r')) return letter_kind::space;
    if ((point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z')) return letter_kind::letter;
    return point >= '0' && point <= '9' ? letter_kind::digit : letter_kind::mark;
  }
  if (point == 0x85 || point == 0xa0 || point == 0x1680 || (point >= 0x2000 && point <= 0x200a) ||
      point == 0x2028 || point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000)
    return letter_kind::space;
  if (detail::is_within(detail::letter_ranges, point)) return letter_kind::letter;
  return detail::is_within(detail::number_ranges, point) ? letter_kind::digit : letter_kind::mark;
}

}  // namespace motet
