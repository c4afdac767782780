// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace motet {

// Entries of a file of text lie here: the file is walked in pieces, so it may be of any length.
struct text_entry {
  isize offset = 0, size = 0;
  isize number = 0;  // of its line, or in its array; the first is 1
};

namespace detail {

// visit(byte, place) for all bytes, in order; false when the file gives fewer than it has.
template <class Visit>
bool walk_bytes(const input_file& file, Visit&& visit) {
  std::vector<std::uint8_t> held(as_size(std::min<isize>(file.size(), isize{1} << 20)));
  for (isize from = 0; from < file.size();) {
    const isize got = file.read(from, held);
    if (got <= 0) return false;
    for (isize i = 0; i < got; ++i) visit(static_cast<char>(held[as_size(i)]), from + i);
    from += got;
  }
  return true;
}
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Entries of an array, cut at the commas that stand in no inner value; what the values are is not asked.
struct array_walk {
  enum { before, inside, behind } where = before;
  isize depth = 0, first = -1, last = -1, number = 0;
  bool quoted = false, escaped = false;

  template <class Keep>
  void see(char c, isize place, Keep&& keep) {
    if (where == before) {
      if (c == '[') where = inside;
      return;
    }
    if (where == behind) return;
    if (quoted) {
      if (escaped) escaped = false;
      else if (c == '\\') escaped = true;
      else if (c == '"') quoted = false;
      last = place;
      return;
    }
    if (depth == 0 && (c == ',' || c == ']')) {
      // An array may be empty; two commas have nothing between them, which is an entry that is none.
      if (first >= 0 || c == ',' || number > 0)
        keep(text_entry{std::max<isize>(first, 0), first < 0 ? 0 : last - first + 1, ++number});
      first = -1;
      if (c == ']') where = behind;
      return;
    }
    if (is_blank(c)) return;
    if (first < 0) first = place;
    last = place;
    if (c == '"') quoted = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') depth = std::max<isize>(0, depth - 1);
  }
};

}  // namespace detail

// Lines that are not blank, without what ends them.
template <class Keep>
bool for_each_line(const input_file& file, Keep&& keep) {
  isize first = -1, last = -1, number = 1;
  const auto end = [&] {
    if (first >= 0) keep(text_entry{first, last - first + 1, number});
    first = -1;
    ++number;
  };
  const bool whole = detail::walk_bytes(file, [&](char c, isize place) {
    if (c == '\n') return end();
    if (detail::is_blank(c)) return;
    if (first < 0) first = place;
    last = place;
  });
  end();
  return whole;
}

// Entries of a JSON array, or where the file begins with none, lines of JSON. `damage(where)` is told what is
// wrong with the file as a whole.
template <class Keep, class Damage>
void for_each_entry(const input_file& file, Keep&& keep, Damage&& damage) {
  char head = '\0';
  std::array<std::uint8_t, 4096> begin{};
  for (isize from = 0; head == '\0' && from < file.size();) {
    const isize got = file.read(from, begin);
    if (got <= 0) break;
    for (isize i = 0; i < got && head == '\0'; ++i)
      if (!detail::is_blank(static_cast<char>(begin[as_size(i)])))
        head = static_cast<char>(begin[as_size(i)]);
    from += got;
  }
  bool whole = true;
  if (head == '[') {
    detail::array_walk walk;
    whole = detail::walk_bytes(file, [&](char c, isize place) { walk.see(c, place, keep); });
    if (walk.where != detail::array_walk::behind)
      damage(sentence({"its array ends inside entry ", walk.number + 1}));
  } else {
    whole = for_each_line(file, keep);
  }
  if (!whole) damage("cut short while reading");
}

}  // namespace motet
