// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/words/pieces.hpp>
#include <motet/tensor/random.hpp>

#include <string>
#include <vector>

using namespace motet;
using list = std::vector<std::string>;

namespace {
list cut(std::string_view text, piece_rule rule) {
  list out;
  for_each_piece(text, rule, [&](std::string_view piece) { out.emplace_back(piece); });
  return out;
}
}  // namespace

TEST_CASE("spaced: one space goes with what follows, and nothing is lost") {
  CHECK(cut("a red circle", piece_rule::spaced) == list{"a", " red", " circle"});
  CHECK(cut("  two\n 12x!? é9 ", piece_rule::spaced) ==
        list{" ", " two", "\n", " 12", "x", "!?", " é", "9", " "});
  CHECK(cut("", piece_rule::spaced).empty());
  const random_stream draws(3, "pieces");
  for (std::uint64_t run = 0; run < 200; ++run) {
    std::string text, joined;
    for (std::uint64_t i = 0; i < run % 50; ++i)
      text.push_back(static_cast<char>(draws.below(run * 64 + i, 256)));
    for (const std::string& piece : cut(text, piece_rule::spaced)) joined += piece;
    CHECK(joined == text);
  }
}

TEST_CASE("clip: white space separates, digits stand alone, English endings are cut off") {
  CHECK(cut("  it's 42 o'clock, we'll see...", piece_rule::clip) ==
        list{"it", "'s", "4", "2", "o", "'", "clock", ",", "we", "'ll", "see", "..."});
  CHECK(cut("'tis \t!'s", piece_rule::clip) == list{"'t", "is", "!'", "s"});
}
