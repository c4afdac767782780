// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/words/tokenizer.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;
using tokens = std::vector<tokenizer::token>;

namespace {

tokenizer::parts bytes_alone() {
  tokenizer::parts made;
  for (int byte = 0; byte < 256; ++byte) made.texts.push_back(std::string(1, static_cast<char>(byte)));
  made.lower = false;
  return made;
}
// 256 ab, 257 bc, 258 abc (from ab + c), 259 aa, then begin and end.
tokenizer small_tokenizer() {
  tokenizer::parts made = bytes_alone();
  for (const char* text : {"ab", "bc", "abc", "aa", "begin", "end"}) made.texts.push_back(text);
  made.merges = {{{'a', 'b'}, 256}, {{'b', 'c'}, 257}, {{256, 'c'}, 258}, {{'a', 'a'}, 259}};
  return tokenizer(made);
}

// The textbook way: look for the best pair again after each merge.
tokens slow(const tokenizer& words, std::string_view piece) {
  tokens out;
  for (const char c : piece) out.push_back(static_cast<unsigned char>(c));
  while (true) {
    const auto& merges = words.description().merges;
    std::size_t best = merges.size(), at = 0;
    for (std::size_t i = 0; i + 1 < out.size(); ++i) {
      for (std::size_t rank = 0; rank < best; ++rank) {
        if (merges[rank].from == tokenizer::pair{out[i], out[i + 1]}) {
          best = rank;
          at = i;
        }
      }
    }
    if (best == merges.size()) return out;
    out[at] = merges[best].to;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

}  // namespace

TEST_CASE("merges by rank, the leftmost of equals") {
  const tokenizer words = small_tokenizer();
  CHECK(words.end_token() == 261);
  CHECK(words.begin_token() == 260);
  CHECK(words.encode("abc") == tokens{260, 258, 261});
  CHECK(words.encode("aabc") == tokens{260, 'a', 258, 261});
  CHECK(words.encode("bcaaa") == tokens{260, 257, 259, 'a', 261});
  CHECK(words.encode("") == tokens{260, 261});
  CHECK(words.encode("ab ab") == tokens{260, 256, ' ', 256, 261});  // no merge for " ab"
}

TEST_CASE("the same as the textbook way on random words") {
  const tokenizer small = small_tokenizer(), trained = pairs_tokenizer();
  const random_stream draws(2, "words");
  tokenizer::scratch work;
  for (std::uint64_t run = 0; run < 500; ++run) {
    std::string piece;
    for (std::uint64_t i = 0; i < 1 + run % 30; ++i)
      piece.push_back("abcaabnumberofpictu"[draws.below(run * 64 + i, 19)]);
    for (const tokenizer* words : {&small, &trained}) {
      tokens out;
      words->encode_text(piece, out, work);
      REQUIRE(out == slow(*words, piece));
    }
  }
}

TEST_CASE("any bytes come back") {
  tokenizer::parts exact = pairs_tokenizer().description();
  exact.lower = false;
  const tokenizer words(exact);
  const random_stream draws(4, "bytes");
  for (std::uint64_t run = 0; run < 300; ++run) {
    std::string text;
    for (std::uint64_t i = 0; i < run; ++i)
      text.push_back(static_cast<char>(draws.below(run * 512 + i, run % 2 == 0 ? 256 : 128)));
    text += " picture of the number ";
    REQUIRE(words.decode(words.encode(text, 100000)) == text);
  }
}

TEST_CASE("the context cuts the text and keeps the end") {
  const tokenizer words = small_tokenizer();
  CHECK(words.encode("xyzxyz", 5) == tokens{260, 'x', 'y', 'z', 261});
  CHECK(words.encode("xyz", 5) == tokens{260, 'x', 'y', 'z', 261});
  CHECK(words.encode("xyz", 2) == tokens{260, 261});
  CHECK_THROWS_WITH_AS(words.encode("xyz", 1), doctest::Contains("MT-D13"), error);
  // A word of a million letters neither hangs nor changes the first tokens.
  CHECK(words.encode(std::string(1000000, 'b') + "c", 4) == tokens{260, 'b', 'b', 261});
}

TEST_CASE("capitals fold only when asked") {
  tokenizer::parts made = bytes_alone();
  made.texts.insert(made.texts.end(), {"begin", "end"});
  CHECK(tokenizer(made).encode("A") == tokens{256, 'A', 257});
  made.lower = true;
  CHECK(tokenizer(made).encode("A") == tokens{256, 'a', 257});
}

TEST_CASE("rule clip marks the ends of words") {
  tokenizer::parts made = bytes_alone();
  const auto bytes = made.texts;
  made.texts.insert(made.texts.end(), bytes.begin(), bytes.end());
  made.texts.insert(made.texts.end(), {"ab", "begin", "end"});
  made.ends_word.assign(515, false);
  std::fill(made.ends_word.begin() + 256, made.ends_word.begin() + 513, true);
  made.merges = {{{'a', 'b' + 256}, 512}};
  made.rule = piece_rule::clip;
  const tokenizer words(made);
  CHECK(words.encode("ab aba") == tokens{513, 512, 'a', 'b', 'a' + 256, 514});
  CHECK(words.decode(words.encode("  ab   aba! ")) == "ab aba !");
}

TEST_CASE("impossible vocabularies and tokens") {
  tokenizer::parts made = bytes_alone();
  CHECK(code_of([&] { tokenizer{made}; }) == "MT-D09");  // no begin and end
  made.texts.insert(made.texts.end(), {"begin", "end"});
  tokenizer::parts hole = made;
  hole.texts[65] = "B";
  CHECK(code_of([&] { tokenizer{hole}; }) == "MT-D09");
  tokenizer::parts wild = made;
  wild.merges = {{{1, 2}, 999}};
  CHECK(code_of([&] { tokenizer{wild}; }) == "MT-D09");
  const tokenizer words(made);
  CHECK(code_of([&] { static_cast<void>(words.decode(tokens{258})); }) == "MT-D09");
  CHECK(code_of([&] { static_cast<void>(words.decode(tokens{-1})); }) == "MT-D09");
}
