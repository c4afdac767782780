// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/meta/short_text.hpp>

#include <span>

namespace motet {

// Letters to change, to add or to leave out until one word is the other.
constexpr std::size_t letters_between(std::string_view a, std::string_view b) {
  list<std::size_t> row(static_cast<isize>(b.size()) + 1);
  for (isize j = 0; j < row.size(); ++j) row[j] = static_cast<std::size_t>(j);
  for (const char letter : a) {
    std::size_t corner = row[0]++;
    for (isize j = 1; j < row.size(); ++j) {
      const std::size_t changed = corner + (letter == b[static_cast<std::size_t>(j - 1)] ? 0 : 1);
      corner = row[j];
      const std::size_t one_more = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      row[j] = changed < one_more ? changed : one_more;
    }
  }
  return row[row.size() - 1];
}

// The name that somebody meant who wrote `word`: the one with the fewest letters to change, when that is few
// for the word's length; else nothing.
constexpr std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  std::string_view best;
  std::size_t fewest = word.size() / 3 < 2 ? 2 : word.size() / 3;
  for (const std::string_view each : names) {
    const std::size_t changes = letters_between(word, each);
    if (changes < fewest || (changes == fewest && best.empty())) {
      fewest = changes;
      best = each;
    }
  }
  return best;
}

// A name that is none of those is answered so, by the compiler and at run time: "captoin; there are picture,
// caption; did you mean caption".
constexpr short_text not_among(std::string_view word, std::span<const std::string_view> names) {
  short_text out(word);
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += i > 0 ? ", " : "; there are ";
    out += names[i];
  }
  if (const std::string_view near = nearest(word, names); !near.empty()) {
    out += "; did you mean ";
    out += near;
  }
  return out;
}

}  // namespace motet
