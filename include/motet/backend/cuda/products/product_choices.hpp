// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>
#include <motet/meta/error.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace motet::cuda {

// An algorithm is the library's way to a product, in its own words: the same ones mean the same to the same
// version of it on the same chip, and nothing to another.
using product_algorithm = std::array<std::uint64_t, 8>;

// Algorithms that were found fastest, by the text of the shape, and for which GPU, driver and library.
struct product_choices {
  std::string machine;
  std::map<std::string, product_algorithm, std::less<>> of;
  bool operator==(const product_choices&) const = default;
};

inline constexpr char product_digits[] = "0123456789abcdef";

// Lines of a file: a title, the machine, a shape and its algorithm in each, and how many there are, so that a
// part of a file is none.
inline std::string format_product_choices(const product_choices& choices) {
  std::string text = "motet products 1\nof " + choices.machine + '\n';
  for (const auto& [shape, algorithm] : choices.of) {
    text += shape + ':';
    for (const std::uint64_t word : algorithm) {
      text += ' ';
      for (int shift = 60; shift >= 0; shift -= 4) text += product_digits[word >> shift & 15];
    }
    text += '\n';
  }
  return sentence({text, "end ", choices.of.size(), '\n'});
}

// All of a file's text into `found`, or what is wrong with it and in which line; then `found` is as it was.
// Shapes are only compared; what an algorithm means, the library knows.
inline std::string parse_product_choices(std::string_view text, product_choices& found) {
  isize line = 0;
  const auto wrong = [&](const std::string& what) { return sentence({"line ", line, ": ", what}); };
  std::string_view own;
  const auto next = [&] {
    ++line;
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return false;
    own = text.substr(0, end);
    text.remove_prefix(end + 1);
    for (const char c : own)
      if (c < ' ' || c > '~') return false;
    return true;
  };
  constexpr const char* no_line = "a line of printable characters is missing";
  product_choices made;
  if (!next()) return wrong(no_line);
  if (own != "motet products 1")
    return wrong("got '" + std::string(own.substr(0, 40)) + "', wanted 'motet products 1'");
  if (!next()) return wrong(no_line);
  if (!own.starts_with("of ")) return wrong("wanted 'of', a GPU, its driver and its library");
  made.machine = own.substr(3);
  for (;;) {
    if (!next()) return wrong(no_line);
    const std::string end = "end " + std::to_string(made.of.size());
    if (own == end) break;
    constexpr std::size_t each = 17;  // a space and sixteen digits
    const std::size_t colon = own.find(':'), begin = colon + 1;
    product_algorithm algorithm{};
    if (colon == 0 || colon == std::string_view::npos || own.size() != begin + each * algorithm.size())
      return wrong("wanted a shape, a colon and eight words of sixteen digits, or '" + end + "'");
    for (std::size_t at = begin; at < own.size(); ++at) {
      const std::size_t digit = std::string_view(product_digits).find(own[at]), column = (at - begin) % each;
      if (column == 0 ? own[at] != ' ' : digit == std::string_view::npos)
        return wrong("an algorithm is eight words of sixteen digits, 0 to f");
      std::uint64_t& word = algorithm[(at - begin) / each];
      if (column > 0) word = word << 4 | digit;
    }
    if (!made.of.emplace(own.substr(0, colon), algorithm).second)
      return wrong("this shape stands there twice");
  }
  if (!text.empty()) return ++line, wrong("something stands behind the end");
  found = std::move(made);
  return {};
}

}  // namespace motet::cuda
