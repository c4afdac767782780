// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/words/tokenizer.hpp>

#include <string>
#include <string_view>

namespace motet {

// Reads the Hugging Face form: that of captions, CLIP's, and those of language models: bytes cut as GPT-2,
// Llama 3 and Qwen2 cut them, and SentencePiece's. `origin` stands in messages.
tokenizer parse_tokenizer(std::string_view text, const std::string& origin = "tokenizer.json");

// Reads a vocabulary from a file.
// Asks for: a tokenizer.json of the Hugging Face form, with rules that are known here.
// Memory: the file while it is read, and the vocabulary.
// Errors: MT-D01, MT-D09
// Example:
//   std::ptrdiff_t size_of(const std::string& file) { return read_tokenizer(file).size(); }
tokenizer read_tokenizer(const std::string& path);

// The Hugging Face form, of a vocabulary of a language model as it was read: the `tokenizers` package reads
// it and gives the same tokens for any UTF-8 text.
std::string format_tokenizer(const tokenizer& from);

}  // namespace motet

#if !defined(MOTET_COMPILED_DATA)
#include <motet/data/file.hpp>
#include <motet/data/words/tokenizer_language.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/format/text/json_write.hpp>

namespace motet {

namespace detail {

// The two ways to cut text, as the regular expressions that stand in tokenizer.json.
inline constexpr std::string_view spaced_pattern =
    R"( ?(?:[A-Za-z]|[^\x00-\x7F])+| ?[0-9]+| ?[!-/:-@\[-`{-~\x00-\x08\x0E-\x1F\x7F]+|[ \t\n\r\f\v])";
inline constexpr std::string_view clip_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";

inline tokenizer tokenizer_of(const json& file, std::string_view source) {
  const json& model = file.at("model");
  if (const json* type = model.find("type"); type != nullptr && type->string() != "BPE")
    fail(bad_vocabulary, "its model is " + type->string() + ", wanted BPE");
  // Those of captions cut text in one of two ways.
  std::string_view pattern;
  visit_steps(file.find("pre_tokenizer"), "pretokenizers", [&](const json& step) {
    if (of_type(step, "Split") && step.at("pattern").find("Regex") != nullptr)
      pattern = step.at("pattern").at("Regex").string();
  });
  if (pattern != spaced_pattern && pattern != clip_pattern) {
    tokenizer::parts read = language_vocabulary(file).made();
    read.source = source;
    return tokenizer(std::move(read));
  }
  tokenizer::parts made;
  std::string mark;
  if (const json* suffix = model.find("end_of_word_suffix"); suffix != nullptr && suffix->is_string())
    mark = suffix->string();
  made.lower = false;
  visit_steps(file.find("normalizer"), "normalizers",
              [&](const json& step) { made.lower = made.lower || of_type(step, "Lowercase"); });
  made.rule = pattern == clip_pattern ? piece_rule::clip : piece_rule::spaced;
  if ((made.rule == piece_rule::clip) != !mark.empty())
    fail(bad_vocabulary, "the mark of a word's end does not fit the way it cuts text");

  const json::object& entries = model.at("vocab").members();
  const auto count = entries.size();
  made.texts.resize(count);
  made.ends_word.assign(count, false);
  std::vector<bool> seen(count, false);
  for (const json::member entry : entries) {
    const std::uint64_t id = entry.value.unsigned_integer();
    if (id >= count || seen[id])
      fail(bad_vocabulary,
           sentence({"the number ", id, " of \"", entry.name, "\" is beyond the end or given twice"}));
    seen[id] = true;
    if (id + 2 >= count) {
      if (entry.name != (id + 1 == count ? "<|endoftext|>" : "<|startoftext|>"))
        fail(bad_vocabulary,
             "the last two tokens must be <|startoftext|> and <|endoftext|>, got \"" + entry.name + "\"");
      made.texts[id] = entry.name;
      continue;
    }
    std::string_view name = entry.name;
    if (!mark.empty() && name.size() > mark.size() && name.ends_with(mark)) {
      made.ends_word[id] = true;
      name.remove_suffix(mark.size());
    }
    made.texts[id] = from_letters(name);
  }

  made.merges = merges_of(model.at("merges"), [&](const std::string& name) { return entries.find(name); });
  return tokenizer(std::move(made));
}

}  // namespace detail

MOTET_BODY tokenizer parse_tokenizer(std::string_view text, const std::string& origin) {
  try {
    return detail::tokenizer_of(read_json(text, origin), text);
  } catch (const error& problem) {
    if (std::string_view(problem.code()) == bad_vocabulary.code) throw;
    fail(bad_vocabulary, origin + " (" + problem.what() + ")");
  }
}

MOTET_BODY tokenizer read_tokenizer(const std::string& path) {
  return parse_tokenizer(read_text(path), path);
}

MOTET_BODY std::string format_tokenizer(const tokenizer& from) {
  const tokenizer::parts& own = from.description();
  if (!own.source.empty()) return own.source;
  const bool clip = own.rule == piece_rule::clip;
  const auto name = [&](std::size_t id) {
    if (id + 2 >= own.texts.size()) return own.texts[id];
    return detail::to_letters(own.texts[id]) + (clip && own.ends_word[id] ? "</w>" : "");
  };
  json::object vocabulary;
  for (std::size_t id = 0; id < own.texts.size(); ++id) vocabulary.insert(name(id), json(id));
  json merges(json::array{});
  for (const tokenizer::merge& each : own.merges)
    merges.push_back(json(json::array{name(as_size(each.from.first)), name(as_size(each.from.second))}));

  const auto special = [&](tokenizer::token id) {
    return json{{"id", id},        {"content", name(as_size(id))}, {"single_word", false}, {"lstrip", false},
                {"rstrip", false}, {"normalized", false},          {"special", true}};
  };
  json normalizers(json::array{});
  if (clip) {
    normalizers.push_back({{"type", "NFC"}});
    normalizers.push_back({{"type", "Replace"}, {"pattern", {{"Regex", R"(\s+)"}}}, {"content", " "}});
  }
  if (own.lower) normalizers.push_back({{"type", "Lowercase"}});
  const json split{{"type", "Split"},
                   {"pattern", {{"Regex", clip ? detail::clip_pattern : detail::spaced_pattern}}},
                   {"behavior", clip ? "Removed" : "Isolated"},
                   {"invert", clip}};
  const json byte_level{
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  const auto piece = [&](tokenizer::token id) {
    return json{{"SpecialToken", {{"id", name(as_size(id))}, {"type_id", 0}}}};
  };
  const auto whole = [](const char* which) { return json{{"Sequence", {{"id", which}, {"type_id", 0}}}}; };
  const auto entry = [&](tokenizer::token id) {
    const std::string text = name(as_size(id));
    return std::pair<std::string, json>{
        text,
        json{{"id", text}, {"ids", json(json::array{json(id)})}, {"tokens", json(json::array{json(text)})}}};
  };
  const json begin = piece(from.begin_token()), end = piece(from.end_token());
  const json post{{"type", "TemplateProcessing"},
                  {"single", json(json::array{begin, whole("A"), end})},
                  {"pair", json(json::array{begin, whole("A"), end, begin, whole("B"), end})},
                  {"special_tokens", json{entry(from.begin_token()), entry(from.end_token())}}};
  json model{{"type", "BPE"},
             {"dropout", nullptr},
             {"unk_token", nullptr},
             {"continuing_subword_prefix", clip ? json("") : json()},
             {"end_of_word_suffix", clip ? json("</w>") : json()},
             {"fuse_unk", false},
             {"byte_fallback", false}};
  model.set("vocab", json(std::move(vocabulary)));
  model.set("merges", std::move(merges));
  return write_json(
             json{{"version", "1.0"},
                  {"truncation", nullptr},
                  {"padding", nullptr},
                  {"added_tokens", json(json::array{special(from.begin_token()), special(from.end_token())})},
                  {"normalizer", normalizers.items().empty()
                                     ? json()
                                     : json{{"type", "Sequence"}, {"normalizers", normalizers}}},
                  {"pre_tokenizer",
                   json{{"type", "Sequence"}, {"pretokenizers", json(json::array{split, byte_level})}}},
                  {"post_processor", post},
                  {"decoder", byte_level},
                  {"model", std::move(model)}},
             1) +
         "\n";
}

}  // namespace motet
#endif
