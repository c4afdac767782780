// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>
#include <motet/data/tokenizer.hpp>
#include <motet/format/json_read.hpp>
#include <motet/format/json_write.hpp>

namespace motet {

namespace detail {

// The two ways to cut text, as the regular expressions that stand in tokenizer.json.
inline constexpr std::string_view spaced_pattern =
    R"( ?(?:[A-Za-z]|[^\x00-\x7F])+| ?[0-9]+| ?[!-/:-@\[-`{-~\x00-\x08\x0E-\x1F\x7F]+|[ \t\n\r\f\v])";
inline constexpr std::string_view clip_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)";

// Vocabulary files must be text, so GPT-2 gave every byte a printable character: itself where it is one, else
// one from U+0100 on.
struct byte_letters {
  std::array<std::uint32_t, 256> point{};
  constexpr byte_letters() {
    std::uint32_t spare = 256;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      point[byte] = printable ? byte : spare++;
    }
  }
  // The byte of a character, or -1.
  constexpr int byte_of(std::uint32_t wanted) const {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      if (point[byte] == wanted) return static_cast<int>(byte);
    }
    return -1;
  }
};
inline constexpr byte_letters byte_alphabet{};

inline std::string to_letters(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) append_utf8(out, byte_alphabet.point[static_cast<unsigned char>(c)]);
  return out;
}

inline std::string from_letters(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const int byte = length == 0 ? -1 : byte_alphabet.byte_of(utf8_decode(text, at, length));
    if (byte < 0)
      fail(bad_vocabulary,
           "the token \"" + std::string(text) + "\" is not written in the letters of byte-level BPE");
    out.push_back(static_cast<char>(byte));
    at += length;
  }
  return out;
}

// Depth first through nested normalizers and pre-tokenizers.
template <class Visit>
void visit_steps(const json* step, const char* list, Visit&& visit) {
  if (step == nullptr || !step->is_object()) return;
  visit(*step);
  if (const json* inner = step->find(list); inner != nullptr && inner->is_array()) {
    for (const json& each : inner->items()) visit_steps(&each, list, visit);
  }
}

inline bool of_type(const json& step, std::string_view wanted) {
  const json* type = step.find("type");
  return type != nullptr && type->is_string() && type->string() == wanted;
}

inline tokenizer tokenizer_of(const json& file) {
  const json& model = file.at("model");
  if (const json* type = model.find("type"); type != nullptr && type->string() != "BPE")
    fail(bad_vocabulary, "its model is " + type->string() + ", wanted BPE");
  tokenizer::parts made;
  std::string mark;
  if (const json* suffix = model.find("end_of_word_suffix"); suffix != nullptr && suffix->is_string())
    mark = suffix->string();

  made.lower = false;
  visit_steps(file.find("normalizer"), "normalizers",
              [&](const json& step) { made.lower = made.lower || of_type(step, "Lowercase"); });
  bool known = false;
  visit_steps(file.find("pre_tokenizer"), "pretokenizers", [&](const json& step) {
    if (!of_type(step, "Split")) return;
    const std::string& pattern = step.at("pattern").at("Regex").string();
    known = pattern == spaced_pattern || pattern == clip_pattern;
    made.rule = pattern == clip_pattern ? piece_rule::clip : piece_rule::spaced;
  });
  if (!known)
    fail(bad_vocabulary,
         "it cuts text in a way that is not known here (known: the one written beside the shards, and "
         "CLIP's)");
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

  const auto token_of = [&](const std::string& name) {
    const json* id = entries.find(name);
    if (id == nullptr) fail(bad_vocabulary, "a merge names \"" + name + "\", which is no token");
    return static_cast<tokenizer::token>(id->integer());
  };
  for (const json& line : model.at("merges").items()) {
    std::string left, right;
    if (line.is_array()) {
      if (line.items().size() != 2)
        fail(bad_vocabulary, sentence({"a merge has ", line.items().size(), " parts"}));
      left = line.items()[0].string();
      right = line.items()[1].string();
    } else {
      const std::string& both = line.string();
      const std::size_t space = both.find(' ');
      if (space == std::string::npos) fail(bad_vocabulary, "the merge \"" + both + "\" has one part");
      left = both.substr(0, space);
      right = both.substr(space + 1);
    }
    made.merges.push_back({{token_of(left), token_of(right)}, token_of(left + right)});
  }
  return tokenizer(std::move(made));
}

}  // namespace detail

// Reads the Hugging Face form; `origin` stands in messages.
inline tokenizer parse_tokenizer(std::string_view text, const std::string& origin = "tokenizer.json") {
  try {
    return detail::tokenizer_of(read_json(text, origin));
  } catch (const error& problem) {
    if (std::string_view(problem.code()) == bad_vocabulary.code) throw;
    fail(bad_vocabulary, origin + " (" + problem.what() + ")");
  }
}
inline tokenizer read_tokenizer(const std::string& path) { return parse_tokenizer(read_text(path), path); }

// The Hugging Face form: the `tokenizers` package reads it and gives the same tokens for any UTF-8 text.
inline std::string format_tokenizer(const tokenizer& from) {
  const tokenizer::parts& own = from.description();
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
