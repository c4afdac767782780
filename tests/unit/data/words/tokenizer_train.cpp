// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/words/tokenizer_file.hpp>
#include <motet/data/words/tokenizer_train.hpp>

#include <map>

using namespace motet;

namespace {

const std::vector<std::string> captions{
    "a red circle",        "a red square",    "two red circles", "a blue circle on the left",
    "An emerald box",      "banana bandana",  "aaaa aaaaaa",     "a photo of a b",
    "a photo of a\nphoto", "the red the red", "ééé éé"};

// The definition: count all pairs anew for every merge.
std::vector<tokenizer::merge> slow(motet::isize vocabulary) {
  std::map<std::vector<tokenizer::token>, motet::isize> words;
  for (const std::string& caption : captions) {
    std::string text;
    append_lower_case(text, caption);
    for_each_piece(text, piece_rule::spaced, [&](std::string_view piece) {
      std::vector<tokenizer::token> word;
      for (const char c : piece) word.push_back(static_cast<unsigned char>(c));
      ++words[word];
    });
  }
  std::vector<tokenizer::merge> merges;
  while (256 + static_cast<motet::isize>(merges.size()) + 2 < vocabulary) {
    std::map<tokenizer::pair, motet::isize> totals;
    for (const auto& [word, count] : words) {
      for (std::size_t i = 0; i + 1 < word.size(); ++i) totals[{word[i], word[i + 1]}] += count;
    }
    tokenizer::pair best{};
    motet::isize most = 1;
    for (const auto& [both, count] : totals) {
      if (count > most) {
        best = both;
        most = count;
      }
    }
    if (most < 2) break;
    const auto made = static_cast<tokenizer::token>(256 + merges.size());
    merges.push_back({best, made});
    std::map<std::vector<tokenizer::token>, motet::isize> next;
    for (const auto& [word, count] : words) {
      std::vector<tokenizer::token> changed;
      for (std::size_t i = 0; i < word.size(); ++i) {
        const bool match = i + 1 < word.size() && tokenizer::pair{word[i], word[i + 1]} == best;
        changed.push_back(match ? made : word[i]);
        if (match) ++i;
      }
      next[changed] += count;
    }
    words = next;
  }
  return merges;
}

tokenizer trained(motet::isize vocabulary, bool backwards = false) {
  tokenizer_trainer trainer;
  for (std::size_t i = 0; i < captions.size(); ++i)
    trainer.add(captions[backwards ? captions.size() - 1 - i : i]);
  return trainer.train(vocabulary);
}

}  // namespace

TEST_CASE("the merges are those of the definition") {
  for (const motet::isize vocabulary : {258, 260, 270, 290, 1000}) {
    const tokenizer words = trained(vocabulary);
    const auto wanted = slow(vocabulary);
    CAPTURE(vocabulary);
    REQUIRE(words.description().merges.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      REQUIRE(words.description().merges[i].from == wanted[i].from);
      REQUIRE(words.description().merges[i].to == wanted[i].to);
    }
    CHECK(words.size() == 258 + static_cast<motet::isize>(wanted.size()));
  }
}

TEST_CASE("the order of the captions does not matter") {
  CHECK(format_tokenizer(trained(300)) == format_tokenizer(trained(300, true)));
}

TEST_CASE("frequent words become one token") {
  const tokenizer words = trained(1000);
  CHECK(words.encode("a red circle").size() == 5);
  CHECK(words.encode("A RED CIRCLE") == words.encode("a red circle"));
}

TEST_CASE("no captions leave the bytes") { CHECK(tokenizer_trainer().train(500).size() == 258); }
