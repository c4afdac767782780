// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace motet {

// How a caption is cut before its bytes are merged; merges never cross a cut.
enum class piece_rule {
  // letters, digits or marks, each with the one space before them; other white space alone. Nothing is lost,
  // so decoding is exact
  spaced,
  // OpenAI's CLIP: white space only separates, digits stand alone, 's 't 're 've 'm 'll 'd are cut off
  clip,
};

namespace detail {

enum class letter_kind { space, letter, digit, mark };

// All bytes beyond ASCII count as letters: a character is never cut, and no table of Unicode classes is
// needed.
constexpr letter_kind kind_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte == ' ' || (byte >= '\t' && byte <= '\r')) return letter_kind::space;
  if (byte >= 0x80 || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'))
    return letter_kind::letter;
  return byte >= '0' && byte <= '9' ? letter_kind::digit : letter_kind::mark;
}

constexpr std::size_t piece_run(std::string_view text, std::size_t from, letter_kind kind) {
  std::size_t end = from;
  while (end < text.size() && kind_of(text[end]) == kind) ++end;
  return end;
}

}  // namespace detail

// Calls `take(piece)` for each piece in order.
template <class Take>
constexpr void for_each_piece(std::string_view text, piece_rule rule, Take&& take) {
  using detail::kind_of, detail::letter_kind, detail::piece_run;
  for (std::size_t at = 0; at < text.size();) {
    const letter_kind kind = kind_of(text[at]);
    std::size_t end = at + 1;
    if (rule == piece_rule::spaced) {
      if (text[at] == ' ' && end < text.size() && kind_of(text[end]) != letter_kind::space) {
        end = piece_run(text, end, kind_of(text[end]));
      } else if (kind != letter_kind::space) {
        end = piece_run(text, at, kind);
      }
      take(text.substr(at, end - at));
    } else if (kind != letter_kind::space) {
      if (kind != letter_kind::digit) end = piece_run(text, at, kind);
      if (text[at] == '\'') {
        for (const std::string_view cut : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
          if (text.substr(at, cut.size()) == cut) {
            end = at + cut.size();
            break;
          }
        }
      }
      take(text.substr(at, end - at));
    }
    at = end;
  }
}

}  // namespace motet
