// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/unicode/letters.hpp>
#include <motet/data/words/piece_rule.hpp>
#include <motet/format/text/utf8.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace motet {

// This letter, U+2581, stands for a space where pieces are not bytes.
inline constexpr std::string_view space_letter = "\xe2\x96\x81";

namespace detail {

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

// The character at a place; a byte that is none is a mark.
struct seen_letter {
  std::size_t end = 0;
  letter_kind kind = letter_kind::mark;
  bool breaks = false;  // a line
};
constexpr seen_letter letter_at(std::string_view text, std::size_t at) {
  const std::size_t length = utf8_length(text, at);
  if (length == 0) return {at + 1, letter_kind::mark};
  return {at + length, kind_of_letter(utf8_decode(text, at, length)), text[at] == '\n' || text[at] == '\r'};
}
constexpr std::size_t letters_run(std::string_view text, std::size_t from, letter_kind kind,
                                  std::size_t most = static_cast<std::size_t>(-1)) {
  for (; most > 0 && from < text.size(); --most) {
    const seen_letter seen = letter_at(text, from);
    if (seen.kind != kind) break;
    from = seen.end;
  }
  return from;
}

// Bytes of an ending such as 's, or 0. Without case, U+017F is an s.
constexpr std::size_t ending_size(std::string_view text, std::size_t at, bool any_case) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.size() - at < ending.size()) continue;
    bool same = true;
    for (std::size_t i = 0; i < ending.size(); ++i) {
      const char c = text[at + i];
      same = same && (c == ending[i] || (any_case && c >= 'A' && c <= 'Z' && c + 32 == ending[i]));
    }
    if (same) return ending.size();
  }
  return any_case && text.substr(at, 3) == "'\xc5\xbf" ? 3 : 0;
}

// The piece of a language model that begins at `at` ends here: what its regular expression matches there.
constexpr std::size_t language_piece_end(std::string_view text, std::size_t at, piece_rule rule) {
  const bool old = rule == piece_rule::gpt2;
  if (text[at] == '\'')
    if (const std::size_t ending = ending_size(text, at, !old); ending > 0) return at + ending;
  const seen_letter first = letter_at(text, at);
  const std::size_t behind = text[at] == ' ' && first.end < text.size() ? first.end : at;
  const letter_kind then = letter_at(text, behind).kind;
  if (old) {
    if (then != letter_kind::space) return letters_run(text, behind, then);
  } else {
    if (first.kind == letter_kind::letter) return letters_run(text, at, letter_kind::letter);
    if (first.kind == letter_kind::digit)
      return letters_run(text, at, letter_kind::digit, rule == piece_rule::llama3 ? 3 : 1);
    if (!first.breaks && first.end < text.size() && letter_at(text, first.end).kind == letter_kind::letter)
      return letters_run(text, first.end, letter_kind::letter);
    if (then == letter_kind::mark) {
      std::size_t end = letters_run(text, behind, letter_kind::mark);
      while (end < text.size() && letter_at(text, end).breaks) ++end;
      return end;
    }
  }
  // White space: up to its last line end; else all but the last character, if something follows.
  std::size_t end = at, last = at, breaks = at;
  while (end < text.size()) {
    const seen_letter seen = letter_at(text, end);
    if (seen.kind != letter_kind::space) break;
    last = end;
    end = seen.end;
    if (seen.breaks) breaks = end;
  }
  if (!old && breaks > at) return breaks;
  return end < text.size() && last > at ? last : end;
}

}  // namespace detail

// Calls `take(piece)` for each piece in order.
template <class Take>
constexpr void for_each_piece(std::string_view text, piece_rule rule, Take&& take) {
  using detail::kind_of, detail::piece_run;
  if (rule == piece_rule::whole) {
    if (!text.empty()) take(text);
    return;
  }
  for (std::size_t at = 0; at < text.size();) {
    if (is_of_language_model(rule)) {
      const std::size_t end = rule == piece_rule::words
                                  ? std::min(text.find(space_letter, at + 1), text.size())
                                  : detail::language_piece_end(text, at, rule);
      take(text.substr(at, end - at));
      at = end;
      continue;
    }
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
