// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/text/utf8.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace motet {

namespace detail {

struct combining_range {
  std::uint32_t first, last, order;
};
inline constexpr combining_range combining_ranges[] = {
#include <motet/data/unicode/marks.inc>
};
struct composed_character {
  std::uint32_t whole, first, second;
};
inline constexpr composed_character composed_characters[] = {
#include <motet/data/unicode/composed.inc>
};
inline constexpr composed_character replaced_characters[] = {
#include <motet/data/unicode/replaced.inc>
};

// Korean syllables are made by counting.
struct hangul {
  static constexpr std::uint32_t first = 0xac00, lead = 0x1100, vowel = 0x1161, tail = 0x11a7, leads = 19,
                                 vowels = 21, tails = 28, count = leads * vowels * tails;
};

// A mark stands in this place among those of one letter; 0: it is none.
inline std::uint32_t order_of_mark(std::uint32_t point) {
  const auto* const above =
      std::upper_bound(std::begin(combining_ranges), std::end(combining_ranges), point,
                       [](std::uint32_t p, const combining_range& range) { return p < range.first; });
  return above != std::begin(combining_ranges) && point <= above[-1].last ? above[-1].order : 0;
}

template <std::size_t Count>
const composed_character* find_composed(const composed_character (&table)[Count], std::uint32_t point) {
  const auto* const found =
      std::lower_bound(table, table + Count, point,
                       [](const composed_character& each, std::uint32_t p) { return each.whole < p; });
  return found != table + Count && found->whole == point ? found : nullptr;
}

inline void take_apart(std::uint32_t point, std::vector<std::uint32_t>& out) {
  if (point >= hangul::first && point < hangul::first + hangul::count) {
    const std::uint32_t at = point - hangul::first;
    out.push_back(hangul::lead + at / (hangul::vowels * hangul::tails));
    out.push_back(hangul::vowel + at / hangul::tails % hangul::vowels);
    if (at % hangul::tails != 0) out.push_back(hangul::tail + at % hangul::tails);
    return;
  }
  const composed_character* found = find_composed(composed_characters, point);
  if (found == nullptr) found = find_composed(replaced_characters, point);
  if (found == nullptr) return out.push_back(point);
  take_apart(found->first, out);
  if (found->second != 0) take_apart(found->second, out);
}

// The character that two make, or 0.
inline std::uint32_t put_together(std::uint32_t first, std::uint32_t second) {
  if (first >= hangul::lead && first < hangul::lead + hangul::leads && second >= hangul::vowel &&
      second < hangul::vowel + hangul::vowels)
    return hangul::first +
           ((first - hangul::lead) * hangul::vowels + (second - hangul::vowel)) * hangul::tails;
  if (first >= hangul::first && first < hangul::first + hangul::count &&
      (first - hangul::first) % hangul::tails == 0 && second > hangul::tail &&
      second < hangul::tail + hangul::tails)
    return first + (second - hangul::tail);
  static const auto made = [] {
    std::unordered_map<std::uint64_t, std::uint32_t> all;
    for (const composed_character& each : composed_characters)
      all.emplace(std::uint64_t{each.first} << 32 | each.second, each.whole);
    return all;
  }();
  const auto found = made.find(std::uint64_t{first} << 32 | second);
  return found == made.end() ? 0 : found->second;
}

}  // namespace detail

// Appends the text in composed form (Unicode's NFC): what looks the same has the same bytes. Bytes that are
// not UTF-8 pass unchanged.
inline void append_composed(std::string& out, std::string_view text) {
  std::vector<std::uint32_t> all;
  // A letter and what is not ASCII behind it.
  const auto flush = [&] {
    if (all.empty()) return;
    std::vector<std::uint32_t> apart;
    for (const std::uint32_t point : all) detail::take_apart(point, apart);
    for (std::size_t at = 0; at < apart.size();) {
      std::size_t end = at;
      while (end < apart.size() && detail::order_of_mark(apart[end]) != 0) ++end;
      std::stable_sort(apart.begin() + static_cast<std::ptrdiff_t>(at),
                       apart.begin() + static_cast<std::ptrdiff_t>(end),
                       [](std::uint32_t a, std::uint32_t b) {
                         return detail::order_of_mark(a) < detail::order_of_mark(b);
                       });
      at = end + 1;
    }
    // Each character joins the last one that starts a letter, unless another of its order stands between.
    std::size_t kept = 0, start = apart.size();
    std::uint32_t between = 0;
    for (std::size_t at = 0; at < apart.size(); ++at) {
      const std::uint32_t order = detail::order_of_mark(apart[at]);
      const bool free = start < kept && (kept == start + 1 || between < order);
      if (const std::uint32_t made = free ? detail::put_together(apart[start], apart[at]) : 0; made != 0) {
        apart[start] = made;
        continue;
      }
      if (order == 0) start = kept, between = 0;
      else between = order;
      apart[kept++] = apart[at];
    }
    for (std::size_t at = 0; at < kept; ++at) append_utf8(out, apart[at]);
    all.clear();
  };
  const auto is_ascii = [&](std::size_t at) { return static_cast<unsigned char>(text[at]) < 0x80; };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    // A letter that marks may follow begins anew.
    if (length <= 1) flush();
    if (length == 0 || (length == 1 && (at + 1 == text.size() || is_ascii(at + 1)))) out.push_back(text[at]);
    else all.push_back(utf8_decode(text, at, length));
    at += length == 0 ? 1 : length;
  }
  flush();
}

}  // namespace motet
