// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/words/pieces.hpp>
#include <motet/data/words/tokenizer.hpp>
#include <motet/format/text/json.hpp>
#include <motet/format/text/utf8.hpp>

#include <algorithm>
#include <array>
#include <limits>

// tokenizer.json of language models, as the Hugging Face tokenizers package writes it: bytes cut as GPT-2,
// Llama 3 and Qwen2 cut them, and SentencePiece's characters. parse_tokenizer() reads these and those of
// captions.
namespace motet {

namespace detail {

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
    if (wanted < 256 && point[wanted] == wanted) return static_cast<int>(wanted);
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

// Depth first through nested normalizers, pre-tokenizers and post-processors.
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

// find(name) gives the token of that name, as an integer, or null.
template <class Find>
std::vector<tokenizer::merge> merges_of(const json& list, Find&& find) {
  const auto token_of = [&](const std::string& name) {
    const json* id = find(name);
    if (id == nullptr) fail(bad_vocabulary, "a merge names \"" + name + "\", which is no token");
    return static_cast<tokenizer::token>(id->integer());
  };
  std::vector<tokenizer::merge> out;
  for (const json& line : list.items()) {
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
    out.push_back({{token_of(left), token_of(right)}, token_of(left + right)});
  }
  return out;
}

// The ways of language models to cut text, as the regular expressions that stand in tokenizer.json.
struct language_pattern {
  piece_rule rule;
  std::string_view text;
};
inline constexpr language_pattern language_patterns[] = {
    {piece_rule::gpt2, R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {piece_rule::llama3,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {piece_rule::qwen2,
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};

// Reads a vocabulary of a language model; what it asks for and nobody computes here is named.
class language_vocabulary {
 public:
  explicit language_vocabulary(const json& file) : file_(file), model_(file.at("model")) {
    made_.lower = false;
    most_id_ = model_.at("vocab").members().size() + 65536;
    read_normalizer();
    read_cuts();
    read_model();
    read_added();
    read_tokens();
    read_surroundings();
  }
  tokenizer::parts made() && { return std::move(made_); }

 private:
  using space = tokenizer::parts::space;

  [[noreturn]] static void refuse(const char* part, const json& step, const char* known) {
    const json* const type = step.find("type");
    fail(bad_vocabulary, std::string("its ") + part + " " +
                             (type != nullptr && type->is_string() ? type->string() : "without a type") +
                             " is not known here (known: " + known + ")");
  }
  static bool flag(const json& step, const char* name, bool otherwise) {
    const json* const found = step.find(name);
    return found != nullptr && found->is_boolean() ? found->boolean() : otherwise;
  }
  static std::string text(const json& step, const char* name) {
    const json* const found = step.find(name);
    return found != nullptr && found->is_string() ? found->string() : std::string();
  }

  void read_normalizer() {
    visit_steps(file_.find("normalizer"), "normalizers", [&](const json& step) {
      if (of_type(step, "NFC")) made_.compose = true;
      else if (of_type(step, "Lowercase")) made_.lower = true;
      else if (of_type(step, "Prepend") && text(step, "prepend") == space_letter) made_.lead = space::always;
      else if (of_type(step, "Replace") && text(step.at("pattern"), "String") == " " &&
               text(step, "content") == space_letter)
        replaces_ = true;
      else if (!of_type(step, "Sequence"))
        refuse("normalizer", step, "NFC, Lowercase, and SentencePiece's letter for spaces");
    });
  }
  void read_cuts() {
    made_.rule = piece_rule::whole;
    bool bytes = false;
    visit_steps(file_.find("pre_tokenizer"), "pretokenizers", [&](const json& step) {
      if (of_type(step, "Split")) {
        const std::string& pattern = step.at("pattern").at("Regex").string();
        const auto* const found =
            std::find_if(std::begin(language_patterns), std::end(language_patterns),
                         [&](const language_pattern& each) { return each.text == pattern; });
        if (found == std::end(language_patterns) || text(step, "behavior") != "Isolated" ||
            flag(step, "invert", false))
          fail(bad_vocabulary,
               "it cuts text in a way that is not known here (known: the one written beside the shards, "
               "CLIP's, "
               "and those of GPT-2, Llama 3 and Qwen2); its pattern is " +
                   pattern);
        made_.rule = found->rule;
      } else if (of_type(step, "ByteLevel")) {
        bytes = true;
        if (flag(step, "use_regex", true)) made_.rule = piece_rule::gpt2;
        if (flag(step, "add_prefix_space", true)) made_.lead = space::missing;
      } else if (of_type(step, "Metaspace")) {
        if (text(step, "replacement") != space_letter)
          refuse("Metaspace", step, "the one of SentencePiece's letter");
        replaces_ = true;
        const std::string scheme = text(step, "prepend_scheme");
        const bool otherwise = flag(step, "add_prefix_space", true);
        made_.lead = scheme == "first"                 ? space::begin
                     : scheme == "never"               ? space::none
                     : scheme == "always" || otherwise ? space::missing
                                                       : space::none;
        made_.rule = flag(step, "split", true) ? piece_rule::words : piece_rule::whole;
      } else if (!of_type(step, "Sequence")) {
        refuse("pre_tokenizer", step, "Split, ByteLevel, Metaspace");
      }
    });
    made_.characters = !bytes;
    if (!bytes && !replaces_)
      fail(bad_vocabulary,
           "it is neither of bytes (a pre_tokenizer ByteLevel) nor has SentencePiece's letter for "
           "spaces (a normalizer Replace, or a pre_tokenizer Metaspace)");
    if (bytes && replaces_)
      fail(bad_vocabulary, "it is of bytes and has SentencePiece's letter for spaces as well");
  }
  void read_model() {
    for (const char* const name : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!text(model_, name).empty())
        fail(bad_vocabulary, std::string("it has a ") + name + ", \"" + text(model_, name) + "\"");
    made_.keep_pieces = flag(model_, "ignore_merges", false);
    made_.join_unknown = flag(model_, "fuse_unk", false);
  }
  void read_added() {
    const json* const list = file_.find("added_tokens");
    if (list == nullptr || list->is_null()) return;
    for (const json& each : list->items()) {
      added_token own;
      own.text = each.at("content").string();
      const std::uint64_t id = each.at("id").unsigned_integer();
      if (id > most_id_) fail(bad_vocabulary, sentence({"added token \"", own.text, "\" has number ", id}));
      own.id = static_cast<std::int32_t>(id);
      own.special = flag(each, "special", false);
      own.left = flag(each, "lstrip", false);
      own.right = flag(each, "rstrip", false);
      if (flag(each, "single_word", false))
        fail(bad_vocabulary,
             "added token \"" + own.text + "\" is for single words alone, which is not known here");
      made_.added.push_back(std::move(own));
    }
  }
  void read_tokens() {
    const json::object& entries = model_.at("vocab").members();
    std::uint64_t count = 0;
    for (const json::member entry : entries) {
      const std::uint64_t id = entry.value.unsigned_integer();
      if (id > most_id_)
        fail(bad_vocabulary, sentence({"the number ", id, " of \"", entry.name, "\" is beyond the end"}));
      count = std::max(count, id + 1);
    }
    for (const added_token& each : made_.added)
      count = std::max(count, static_cast<std::uint64_t>(each.id) + 1);
    made_.texts.resize(count);
    std::vector<bool> seen(count, false), extra(count, false);
    for (const added_token& each : made_.added) extra[as_size(each.id)] = true;
    for (const json::member entry : entries) {
      const std::uint64_t id = entry.value.unsigned_integer();
      if (seen[id])
        fail(bad_vocabulary, sentence({"the number ", id, " of \"", entry.name, "\" is given twice"}));
      seen[id] = true;
      if (extra[id]) continue;
      made_.texts[id] = made_.characters ? std::string(entry.name) : from_letters(entry.name);
    }
    made_.merges =
        merges_of(model_.at("merges"), [&](const std::string& name) { return entries.find(name); });
    if (const std::string name = text(model_, "unk_token"); !name.empty()) {
      const json* const found = entries.find(name);
      if (found == nullptr) fail(bad_vocabulary, "its unk_token \"" + name + "\" is no token");
      made_.unknown = static_cast<tokenizer::token>(found->integer());
    }
    if (!flag(model_, "byte_fallback", false) && made_.characters)
      for (std::string& each : made_.texts)
        if (each.size() == 6 && each.starts_with("<0x") && each.ends_with('>')) each.clear();
  }
  // Reads what stands before and after a text.
  void read_surroundings() {
    visit_steps(file_.find("post_processor"), "processors", [&](const json& step) {
      if (of_type(step, "TemplateProcessing")) {
        bool behind = false;
        for (const json& each : step.at("single").items()) {
          const json* const special = each.find("SpecialToken");
          if (special == nullptr) {
            behind = true;
            continue;
          }
          for (const json& id : step.at("special_tokens").at(special->at("id").string()).at("ids").items())
            (behind ? made_.after : made_.before).push_back(static_cast<tokenizer::token>(id.integer()));
        }
      } else if (!of_type(step, "ByteLevel") && !of_type(step, "Sequence")) {
        refuse("post_processor", step, "TemplateProcessing, ByteLevel");
      }
    });
  }

  // Numbers may have gaps; a file is not to ask for memory by a number.
  std::uint64_t most_id_ = 0;
  const json& file_;
  const json& model_;
  tokenizer::parts made_;
  bool replaces_ = false;
};

}  // namespace detail

}  // namespace motet
