// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/words/tokenizer_file.hpp>

#include <fuzz/data_targets.hpp>
#include <fuzz/mutate.hpp>
#include <unit/data/pairs.hpp>

using namespace motet;

namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// A vocabulary in the form of CLIP's: bytes, bytes that end a word, a merge.
tokenizer clip_tokenizer() {
  tokenizer::parts made;
  for (int round = 0; round < 2; ++round) {
    for (int byte = 0; byte < 256; ++byte) made.texts.push_back(std::string(1, static_cast<char>(byte)));
  }
  made.texts.insert(made.texts.end(), {"ab", "<|startoftext|>", "<|endoftext|>"});
  made.ends_word.assign(515, false);
  std::fill(made.ends_word.begin() + 256, made.ends_word.begin() + 513, true);
  made.merges = {{{'a', 'b' + 256}, 512}};
  made.rule = piece_rule::clip;
  return tokenizer(made);
}

}  // namespace

TEST_CASE("written and read again, it gives the same tokens") {
  for (const tokenizer& words : {pairs_tokenizer(), clip_tokenizer()}) {
    const std::string file = format_tokenizer(words);
    const tokenizer again = parse_tokenizer(file);
    CHECK(format_tokenizer(again) == file);
    CHECK(again.size() == words.size());
    for (const char* text :
         {"a picture of number 7 on the left", "ab aba", "", "  \xff\x01 é", "WE'LL see 12"})
      CHECK(again.encode(text) == words.encode(text));
  }
}

TEST_CASE("files as older programs write them: merges with a space between") {
  const std::string file = format_tokenizer(clip_tokenizer());
  const std::size_t from = file.find("\"merges\": [");
  const std::string older = file.substr(0, from) + "\"merges\": [\"a b</w>\"]}}";
  CHECK(parse_tokenizer(older).encode("ab") == clip_tokenizer().encode("ab"));
}

TEST_CASE("bytes and letters are one to one") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  CHECK(detail::from_letters(detail::to_letters(all)) == all);
  CHECK(detail::to_letters(" a\n") == "Ġa\xc4\x8a");
  CHECK(code_of([] { detail::from_letters("中"); }) == "MT-D09");
}

TEST_CASE("what is wrong with a file is said") {
  const std::string file = format_tokenizer(pairs_tokenizer());
  const auto refusal = [](const std::string& text) {
    try {
      parse_tokenizer(text, "here.json");
    } catch (const error& problem) {
      CHECK(std::string(problem.code()) == "MT-D09");
      return std::string(problem.what());
    }
    return std::string();
  };
  const std::string end = std::to_string(pairs_tokenizer().end_token());
  CHECK(refusal("").find("here.json") != std::string::npos);
  CHECK(refusal(file.substr(0, file.size() / 2)).find("here.json") != std::string::npos);
  CHECK(refusal(replaced(file, "\"type\": \"BPE\"", "\"type\": \"Unigram\"")).find("Unigram") !=
        std::string::npos);
  CHECK(refusal(replaced(file, "\"Regex\": \" ?", "\"Regex\": \" *")).find("cuts text") != std::string::npos);
  CHECK(refusal(replaced(file, "\"Regex\": \"", "\"Other\": \"")).find("Regex") != std::string::npos);
  CHECK(refusal(replaced(file, "\"<|endoftext|>\": " + end, "\"<|end|>\": " + end)).find("<|end|>") !=
        std::string::npos);
  CHECK(refusal(replaced(file, "\"!\": 33", "\"!\": 34")).find("twice") != std::string::npos);
  CHECK(refusal(replaced(file, "\"!\": 33", "\"!\": 99999")).find("99999") != std::string::npos);
  CHECK(refusal(replaced(file, "\"!\": 33", "\"!\": -1")).find("-1") != std::string::npos);
  CHECK(code_of([] { static_cast<void>(read_tokenizer("/nowhere/tokenizer.json")); }) == "MT-D01");
}

TEST_CASE("mutations are read or refused") {
  // Short files let the mutations reach every part.
  tokenizer_trainer trainer;
  trainer.add("a b a b");
  const std::vector<std::string> seeds{format_tokenizer(trainer.train(260))};
  CHECK(fuzz_vocabulary(seeds[0]));
  motet::isize accepted = 0;
  for (std::uint64_t run = 0; run < 600; ++run) accepted += fuzz_vocabulary(mutated(seeds, run)) ? 1 : 0;
  CHECK(accepted < 400);
}
