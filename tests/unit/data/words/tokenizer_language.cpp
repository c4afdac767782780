// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/words/tokenizer_file.hpp>

#include <fuzz/data_targets.hpp>
#include <fuzz/mutate.hpp>

#include <set>

using namespace motet;
using tokens = std::vector<tokenizer::token>;

namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// Bytes 0 to 255 under their own numbers, two merges, and tokens of its own behind.
std::string of_bytes(const char* cuts, const char* more = "") {
  json vocabulary(json::object{});
  for (int byte = 0; byte < 256; ++byte)
    vocabulary.set(detail::to_letters(std::string(1, static_cast<char>(byte))), byte);
  vocabulary.set("ab", 256).set("\u0120ab", 257);
  return R"({"added_tokens": [{"id": 260, "content": "<image>", "special": true},
    {"id": 261, "content": "<im", "special": false, "lstrip": true, "rstrip": true}],
    "normalizer": {"type": "NFC"}, "pre_tokenizer": )" +
         std::string(cuts) + more + R"(, "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "merges": [["a", "b"], "\u0120 ab"], "vocab": )" +
         write_json(vocabulary) + "}}";
}
const char* const gpt2 = R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})";
std::string split_by(piece_rule rule) {
  for (const detail::language_pattern& each : detail::language_patterns)
    if (each.rule == rule)
      return write_json(
          json{{"type", "Sequence"},
               {"pretokenizers",
                json(json::array{
                    json{{"type", "Split"},
                         {"pattern", {{"Regex", std::string(each.text)}}},
                         {"behavior", "Isolated"},
                         {"invert", false}},
                    json{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}})}});
  return {};
}
const char* const template_of_two =
    R"(, "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel"}, {"type": "TemplateProcessing",
       "single": [{"SpecialToken": {"id": "B", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                  {"SpecialToken": {"id": "E", "type_id": 0}}],
       "special_tokens": {"B": {"id": "B", "ids": [258], "tokens": ["B"]}, "E": {"id": "E", "ids": [260], "tokens": ["E"]}}}]})";

// SentencePiece's form: <unk> <s> </s>, bytes, then characters.
std::string of_characters(const char* cuts) {
  json vocabulary{{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  constexpr char digits[] = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte)
    vocabulary.set(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">", 3 + byte);
  vocabulary.set("\u2581", 259).set("a", 260).set("b", 261).set("ab", 262).set("\u2581ab", 263).set("é", 264);
  return R"({"added_tokens": [{"id": 0, "content": "<unk>", "special": true}, {"id": 1, "content": "<s>", "special": true},
    {"id": 2, "content": "</s>", "special": true}], )" +
         std::string(cuts) + R"(, "post_processor": {"type": "TemplateProcessing",
       "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}], "special_tokens": {"<s>": {"ids": [1]}}},
    "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
      "merges": ["a b", "\u2581 ab"], "vocab": )" +
         write_json(vocabulary) + "}}";
}
const char* const prepended =
    R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
       {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}, "pre_tokenizer": null)";

tokens text_of(const tokenizer& words, std::string_view text) {
  tokens out;
  tokenizer::scratch work;
  words.encode_text(text, out, work);
  return out;
}

}  // namespace

TEST_CASE("bytes: added tokens first, then pieces and merges") {
  const tokenizer words = parse_tokenizer(of_bytes(gpt2, template_of_two));
  CHECK(words.size() == 262);
  CHECK(words.begin_token() == 258);
  CHECK(words.end_token() == 260);
  CHECK(words.encode("ab ab") == tokens{258, 256, 257, 260});
  CHECK(words.encode("ab ab ab", 4) == tokens{258, 256, 257, 260});
  // The longest of those that begin alike; one takes the white space around it along.
  CHECK(text_of(words, "ab<image> ab") == tokens{256, 260, 257});
  CHECK(text_of(words, "ab \u2003<im ab") == tokens{256, 261, 256});
  CHECK(text_of(words, "<imag") == tokens{261, 'a', 'g'});
  CHECK(words.decode(tokens{258, 256, 260, 261, 257}) == "ab<im ab");
  CHECK(text_of(words, "e\u0301") == tokens{0xc3, 0xa9});
  CHECK(text_of(words, "").empty());
  CHECK(format_tokenizer(words) == of_bytes(gpt2, template_of_two));
}

TEST_CASE("pieces as GPT-2, Llama 3 and Qwen2 cut them") {
  const auto cut = [](std::string_view text, piece_rule rule) {
    std::vector<std::string> out;
    for_each_piece(text, rule, [&](std::string_view piece) { out.emplace_back(piece); });
    return out;
  };
  using list = std::vector<std::string>;
  const std::string text = "It's 12345 (Ünï) x'LL\n\n  y \t";
  CHECK(cut(text, piece_rule::gpt2) ==
        list{"It", "'s", " 12345", " (", "Ünï", ")", " x", "'", "LL", "\n\n ", " y", " \t"});
  CHECK(cut(text, piece_rule::llama3) ==
        list{"It", "'s", " ", "123", "45", " (", "Ünï", ")", " x", "'LL", "\n\n", " ", " y", " \t"});
  CHECK(cut("12 ①\u00a0中!?\r\n.", piece_rule::qwen2) == list{"1", "2", " ", "①", "\u00a0中", "!?\r\n", "."});
  CHECK(cut("a\xff b", piece_rule::llama3) == list{"a", "\xff", " b"});
  CHECK(cut("\u2581a\u2581\u2581b", piece_rule::words) == list{"\u2581a", "\u2581", "\u2581b"});
  CHECK(cut("a b", piece_rule::whole) == list{"a b"});
  for (const piece_rule rule : {piece_rule::llama3, piece_rule::qwen2})
    CHECK(parse_tokenizer(of_bytes(split_by(rule).c_str())).description().rule == rule);
}

TEST_CASE("a piece that is a token is that token, where the file says so") {
  const std::string file = of_bytes(split_by(piece_rule::llama3).c_str());
  const std::string lone = replaced(file, R"("merges": [["a", "b"], "\u0120 ab"])", R"("merges": [])");
  CHECK(text_of(parse_tokenizer(lone), "ab") == tokens{'a', 'b'});
  CHECK(text_of(
            parse_tokenizer(replaced(lone, R"("type": "BPE",)", R"("type": "BPE", "ignore_merges": true,)")),
            "ab") == tokens{256});
}

TEST_CASE("characters: spaces are letters, and what is unknown is its bytes") {
  const tokenizer words = parse_tokenizer(of_characters(prepended));
  CHECK(words.begin_token() == 1);
  CHECK(words.end_token() == -1);
  CHECK(words.encode("ab ab") == tokens{1, 263, 263});
  CHECK(text_of(words, "aéß") == tokens{259, 260, 264, 3 + 0xc3, 3 + 0x9f});
  CHECK(text_of(words, " ab") == tokens{259, 263});
  CHECK(text_of(words, "ab</s>b") == tokens{263, 2, 259, 261});
  CHECK(words.decode(words.encode("ab \u4e2d ab é")) == "ab \u4e2d ab é");
  const char* const first =
      R"("pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": false})";
  const tokenizer later = parse_tokenizer(of_characters(first));
  CHECK(text_of(later, "ab</s>b") == tokens{263, 2, 261});
  CHECK(text_of(later, " ab") == tokens{263});
  const char* const never =
      R"("pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": true})";
  CHECK(text_of(parse_tokenizer(of_characters(never)), "ab") == tokens{262});
  // Without bytes, unknown ones in a row are one.
  const std::string lacking =
      replaced(of_characters(prepended), "\"byte_fallback\": true", "\"byte_fallback\": false");
  CHECK(text_of(parse_tokenizer(lacking), "aßßb") == tokens{259, 260, 0, 261});
}

TEST_CASE("what is not known here is named") {
  const auto refusal = [](const std::string& text) {
    try {
      parse_tokenizer(text, "here.json");
    } catch (const error& problem) {
      CHECK(std::string(problem.code()) == "MT-D09");
      return std::string(problem.what());
    }
    return std::string();
  };
  const auto says = [&](const std::string& text, const char* what) {
    const std::string said = refusal(text);
    CHECK_MESSAGE(said.find(what) != std::string::npos, said);
  };
  const std::string bytes = of_bytes(gpt2), characters = of_characters(prepended);
  says(replaced(bytes, "\"NFC\"", "\"NFKC\""), "its normalizer NFKC is not known here (known: NFC");
  says(of_bytes(R"({"type": "Digits"})"), "its pre_tokenizer Digits is not known here");
  says(of_bytes(R"({"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "[a-z]+"}})"),
       "those of GPT-2, Llama 3 and Qwen2); its pattern is [a-z]+");
  says(of_bytes(gpt2, R"(, "post_processor": {"type": "BertProcessing"})"),
       "its post_processor BertProcessing");
  says(of_characters(R"("normalizer": null, "pre_tokenizer": null)"), "neither of bytes");
  says(replaced(bytes, "\"lstrip\": true", "\"single_word\": true"), "single words alone");
  says(replaced(bytes, "\"id\": 260", "\"id\": 99999999"), "has number 99999999");
  says(replaced(bytes, "\"ab\": 256", "\"ab\": 1"), "given twice");
  says(replaced(characters, "\"<unk>\", \"fuse", "\"<none>\", \"fuse"),
       "its unk_token \"<none>\" is no token");
  says(replaced(bytes, R"("type": "BPE",)", R"("type": "BPE", "end_of_word_suffix": "</w>",)"),
       "end_of_word_suffix");
  says(replaced(bytes, "[\"a\", \"b\"]", "[\"a\", \"x y\"]"), "which is no token");
  says(replaced(bytes, "[\"a\", \"b\"]", "[\"a\", \"b\", \"a\"]"), "a merge has 3 parts");
  says(replaced(bytes, "\"ab\": 256", "\"ab\": 99999999"), "the number 99999999 of \"ab\" is beyond the end");
  says(replaced(bytes, R"({"type": "NFC"})",
                R"({"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})"),
       "it is of bytes and has SentencePiece's letter for spaces as well");
  says(of_characters(R"("normalizer": null, "pre_tokenizer": {"type": "Metaspace", "replacement": "_"})"),
       "the one of SentencePiece's letter");
}

TEST_CASE("each byte has a letter of its own, which is itself where it prints") {
  const detail::byte_letters made;
  std::set<std::uint32_t> letters;
  for (std::size_t byte = 0; byte < 256; ++byte) letters.insert(made.point[byte]);
  CHECK(letters.size() == 256);
  CHECK(made.point['!'] == '!');
  CHECK(made.point[0xff] == 0xff);
  CHECK(made.point[' '] == 0x120);
  CHECK(made.point['\n'] == 0x10a);
}

TEST_CASE("mutations are read or refused") {
  const std::vector<std::string> seeds{of_characters(prepended), of_bytes(gpt2, template_of_two)};
  for (const std::string& each : seeds) CHECK(fuzz_vocabulary(each));
  motet::isize accepted = 0;
  for (std::uint64_t run = 0; run < 400; ++run) accepted += fuzz_vocabulary(mutated(seeds, run)) ? 1 : 0;
  CHECK(accepted < 390);
}
