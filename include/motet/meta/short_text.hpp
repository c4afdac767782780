// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/meta/fixed_string.hpp>

#include <string_view>

namespace motet {

// Text that is put together while a program is compiled, for the compiler's messages: a plain value with
// data() and size(), as a computed static_assert asks for. What is beyond its room is left out.
struct short_text {
  static constexpr std::size_t most = 500;
  char text[most]{};
  std::size_t length = 0;

  constexpr short_text() = default;
  constexpr short_text(std::string_view from) { *this += from; }
  constexpr short_text& operator+=(std::string_view more) {
    for (const char each : more)
      if (length < most) text[length++] = each;
    return *this;
  }
  constexpr short_text& operator+=(isize number) {
    char digits[20]{};
    std::size_t first = sizeof digits;
    const bool negative = number < 0;
    for (; first == sizeof digits || number != 0; number /= 10)
      digits[--first] = static_cast<char>('0' + (negative ? -(number % 10) : number % 10));
    if (negative) *this += "-";
    return *this += std::string_view(digits + first, sizeof digits - first);
  }
  constexpr const char* data() const { return text; }
  constexpr std::size_t size() const { return length; }
  constexpr std::string_view view() const { return {text, length}; }
};

// The piece number `number` of a text begins here: pieces are whole words of together `room` characters, as
// Clang shows no more of a template argument; a longer word is cut. The last one ends at the text's end.
constexpr std::size_t piece_begin(std::string_view text, std::size_t number, std::size_t room = 32) {
  std::size_t at = 0;
  for (; number > 0 && at < text.size(); --number) {
    if (text.size() - at <= room) return text.size();
    std::size_t end = at + room;
    while (end > at && text[end] != ' ') --end;
    at = end == at ? at + room : end + 1;
  }
  return at;
}
constexpr std::size_t pieces(std::string_view text) {
  std::size_t count = 0;
  while (piece_begin(text, count) < text.size()) ++count;
  return count;
}

// One piece as a template argument, Text::value being the whole.
template <class Text, std::size_t Number>
constexpr auto piece_of() {
  constexpr std::size_t begin = piece_begin(Text::value.view(), Number),
                        next = piece_begin(Text::value.view(), Number + 1);
  constexpr std::size_t size = next - begin - (Text::value.text[next - 1] == ' ' ? 1 : 0);
  char out[size + 1]{};
  for (std::size_t i = 0; i < size; ++i) out[i] = Text::value.text[begin + i];
  return fixed_string<size + 1>(out);
}

}  // namespace motet
