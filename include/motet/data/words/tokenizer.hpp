// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/messages.hpp>
#include <motet/data/words/piece_rule.hpp>
#include <motet/meta/config.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace motet {

// A token that a text may hold as it stands, such as <image>; it is found before anything else.
struct added_token {
  std::int32_t id = 0;
  std::string text;
  bool special = true;               // leaves no text when tokens are read
  bool left = false, right = false;  // takes the white space before it, or behind it, along
};

// Byte-pair encoding: of bytes, so that there is no unknown text, or of characters with tokens for the bytes
// of those that the vocabulary lacks, as SentencePiece has it. In vocabularies for captions (rules spaced and
// clip) the last two tokens are the begin and the end of a caption, and the end has the highest number of
// all, as CLIP's pooling wants it; those of language models say what stands before and after a text. A
// constant tokenizer serves any number of threads. Training: tokenizer_train.hpp. Files: tokenizer_file.hpp.
// Asks for: texts in UTF-8; a context of two at least for captions.
// Memory: the vocabulary; encoding takes a scratch that calls may share.
// Errors: MT-D09, MT-D13
// Example:
//   std::string again(const tokenizer& words) { return words.decode(words.encode("a red circle")); }
class tokenizer {
 public:
  using token = std::int32_t;
  using pair = std::pair<token, token>;
  struct merge {
    pair from;
    token to;
  };
  struct parts {
    std::vector<std::string> texts;  // the bytes of each token; those of the last two are never looked at
    std::vector<merge> merges;       // in order of rank
    std::vector<bool> ends_word;     // rule clip alone: the token carries the mark of a word's end
    piece_rule rule = piece_rule::spaced;
    bool lower = true;

    // Only language models have these.
    std::vector<added_token> added{};
    std::vector<token> before{}, after{};  // what stands around a text
    bool compose = false;                  // equal letters become equal bytes first
    bool keep_pieces = false;              // a piece that is a token is that token, whatever the merges say
    bool characters = false;               // merges begin with characters, and spaces are letters
    token unknown = -1;                    // a character of which neither it nor its bytes are tokens
    bool join_unknown = false;             // several of those in a row are one
    enum class space { none, always, missing, begin } lead = space::none;  // in front of a stretch of text
    std::string source{};                                                  // the file that it was read from
  };
  // Encoding needs this memory while it works; kept between calls it saves allocations.
  struct scratch {
    std::string text, composed, stretch;
    std::vector<token> symbols;
    std::vector<isize> next, before;
    std::vector<std::pair<std::int64_t, token>> heap;
  };

  explicit tokenizer(parts from);

  isize size() const { return static_cast<isize>(parts_.texts.size()); }
  // These stand before a text and after it; -1 where nothing does.
  token begin_token() const { return parts_.before.empty() ? -1 : parts_.before.front(); }
  token end_token() const { return parts_.after.empty() ? -1 : parts_.after.back(); }
  const parts& description() const { return parts_; }

  // Appends the tokens of the text alone.
  void encode_text(std::string_view text, std::vector<token>& out, scratch& work) const;

  // Appends what stands before a text, the text, and what stands after it; what exceeds `context` is cut from
  // the text, never the end. Returns how many tokens were appended.
  isize encode(std::string_view text, isize context, std::vector<token>& out, scratch& work) const;
  std::vector<token> encode(std::string_view text, isize context = 77) const;

  // Begin and end leave no text, nor do other special tokens; numbers that are no tokens throw.
  std::string decode(std::span<const token> tokens) const;

 private:
  // Texts are looked up in these; whoever only encodes need not read what hash tables are made of.
  struct lookups;

  static std::uint64_t key(pair p) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(p.first)) << 32) |
           static_cast<std::uint32_t>(p.second);
  }

  // The white space before a place begins here.
  static std::size_t blank_before(std::string_view text, std::size_t from, std::size_t at);
  static void append_replaced(std::string& out, std::string_view text, std::string_view from,
                              std::string_view to);
  // The byte of a token such as <0x0A>, or -1.
  static int byte_of(std::string_view text);

  void enter_bytes();
  void enter_characters(lookups& into);

  // The longest added token that a text has there.
  const added_token* added_at(std::string_view text, std::size_t at) const;

  // Text without added tokens.
  void encode_stretch(std::string_view text, bool first, std::vector<token>& out, scratch& work) const;

  std::string_view clipped(std::string_view text, isize context) const;

  // Merges begin with these; a character that the vocabulary lacks becomes bytes, unknown, or nothing.
  void append_characters(std::string_view piece, std::vector<token>& symbols) const;

  // Merges the pair of the lowest rank, the leftmost of equals, until none is left; a heap keeps long garbage
  // from taking quadratic time.
  void encode_piece(std::string_view piece, std::vector<token>& out, scratch& work) const;

  parts parts_;
  std::array<token, 256> single_{}, last_{};
  std::shared_ptr<const lookups> lookups_;  // copies share them
  std::size_t plain_ = 0;  // tokens that texts are made of: all but the begin and the end of captions
  std::array<std::vector<std::size_t>, 256> added_sizes_{};  // of those that begin with a byte, longest first
  std::vector<isize> added_of_;
};

}  // namespace motet

#if !defined(MOTET_COMPILED_DATA)
#include <motet/data/unicode/compose.hpp>
#include <motet/data/words/lower_case.hpp>
#include <motet/data/words/pieces.hpp>

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace motet {

struct tokenizer::lookups {
  std::unordered_map<std::uint64_t, isize> ranks;       // of merges, by their keys
  std::unordered_map<std::uint32_t, token> characters;  // those that are tokens
  std::unordered_map<std::string, token> whole;         // pieces that are
  std::unordered_map<std::string, std::size_t> added;   // positions in parts::added
};

MOTET_BODY tokenizer::tokenizer(parts from) : parts_(std::move(from)) {
  const auto count = parts_.texts.size();
  const bool closed = !is_of_language_model(parts_.rule);
  if (closed && count < 258)
    fail(bad_vocabulary, sentence({"it has ", count, " tokens, but the bytes, begin and end need 258"}));
  if (closed) {
    parts_.before = {static_cast<token>(count - 2)};
    parts_.after = {static_cast<token>(count - 1)};
  }
  if (parts_.ends_word.empty()) parts_.ends_word.assign(count, false);
  plain_ = closed ? count - 2 : count;
  single_.fill(-1);
  last_.fill(-1);
  const auto built = std::make_shared<lookups>();
  if (parts_.characters) enter_characters(*built);
  else enter_bytes();
  built->ranks.reserve(parts_.merges.size());
  for (std::size_t rank = 0; rank < parts_.merges.size(); ++rank) {
    const merge& own = parts_.merges[rank];
    const auto valid = [&](token t) { return t >= 0 && as_size(t) < plain_; };
    if (!valid(own.from.first) || !valid(own.from.second) || !valid(own.to))
      fail(bad_vocabulary, sentence({"merge ", rank, " names no token"}));
    built->ranks.emplace(key(own.from), static_cast<isize>(rank));
  }
  const auto known = [&](token t) { return t >= 0 && as_size(t) < count; };
  for (const auto* const list : {&parts_.before, &parts_.after})
    for (const token t : *list)
      if (!known(t)) fail(bad_vocabulary, sentence({"token ", t, " around a text is none"}));
  if (parts_.unknown >= 0 && !known(parts_.unknown))
    fail(bad_vocabulary, sentence({"unknown token ", parts_.unknown, " is none"}));
  if (parts_.keep_pieces)
    for (std::size_t i = 0; i < count; ++i)
      if (!parts_.texts[i].empty()) built->whole.emplace(parts_.texts[i], static_cast<token>(i));
  for (std::size_t i = 0; i < parts_.added.size(); ++i) {
    const added_token& each = parts_.added[i];
    if (!known(each.id) || each.text.empty())
      fail(bad_vocabulary, sentence({"added token ", each.id, " is none, or has no text"}));
    built->added.emplace(each.text, i);
    std::vector<std::size_t>& sizes = added_sizes_[static_cast<unsigned char>(each.text[0])];
    if (std::find(sizes.begin(), sizes.end(), each.text.size()) == sizes.end())
      sizes.push_back(each.text.size());
  }
  for (std::vector<std::size_t>& sizes : added_sizes_)
    std::sort(sizes.begin(), sizes.end(), std::greater<>{});
  added_of_.assign(count, -1);
  for (std::size_t i = 0; i < parts_.added.size(); ++i)
    added_of_[as_size(parts_.added[i].id)] = static_cast<isize>(i);
  lookups_ = built;
}

MOTET_BODY void tokenizer::encode_text(std::string_view text, std::vector<token>& out, scratch& work) const {
  std::size_t from = 0;
  for (std::size_t at = 0; at < text.size() && !lookups_->added.empty();) {
    const added_token* const found = added_at(text, at);
    if (found == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + found->text.size();
    if (found->left) begin = blank_before(text, from, at);
    if (found->right) end = detail::letters_run(text, end, letter_kind::space);
    encode_stretch(text.substr(from, begin - from), from == 0, out, work);
    out.push_back(found->id);
    from = at = end;
  }
  encode_stretch(text.substr(from), from == 0, out, work);
}

MOTET_BODY isize tokenizer::encode(std::string_view text, isize context, std::vector<token>& out,
                                   scratch& work) const {
  const auto around = static_cast<isize>(parts_.before.size() + parts_.after.size());
  if (context < around)
    fail(bad_data_option,
         sentence({"a context of ", context, " cannot hold the begin and the end of a caption"}));
  const auto from = static_cast<isize>(out.size());
  out.insert(out.end(), parts_.before.begin(), parts_.before.end());
  // A token covers at most its own bytes, so far longer texts need not be merged to their end.
  encode_text(clipped(text, context), out, work);
  const isize most = from + context - static_cast<isize>(parts_.after.size());
  if (static_cast<isize>(out.size()) > most) out.resize(as_size(most));
  out.insert(out.end(), parts_.after.begin(), parts_.after.end());
  return static_cast<isize>(out.size()) - from;
}

MOTET_BODY std::vector<tokenizer::token> tokenizer::encode(std::string_view text, isize context) const {
  std::vector<token> out;
  scratch work;
  encode(text, context, out, work);
  return out;
}

MOTET_BODY std::string tokenizer::decode(std::span<const token> tokens) const {
  std::string out;
  for (const token t : tokens) {
    if (t < 0 || t >= size()) fail(bad_vocabulary, sentence({"token ", t, " of a vocabulary of ", size()}));
    if (as_size(t) >= plain_) continue;
    if (const isize added = added_of_[as_size(t)]; added >= 0) {
      if (!parts_.added[as_size(added)].special) out += parts_.added[as_size(added)].text;
      continue;
    }
    const std::string& text = parts_.texts[as_size(t)];
    if (!parts_.characters) out += text;
    else if (const int byte = byte_of(text); byte >= 0) out += static_cast<char>(byte);
    else append_replaced(out, text, space_letter, " ");
    if (parts_.ends_word[as_size(t)]) out += ' ';
  }
  if (parts_.rule == piece_rule::clip && !out.empty() && out.back() == ' ') out.pop_back();
  if (parts_.characters && parts_.lead != parts::space::none && out.starts_with(' ')) out.erase(0, 1);
  return out;
}

MOTET_BODY std::size_t tokenizer::blank_before(std::string_view text, std::size_t from, std::size_t at) {
  std::size_t begin = at;
  while (from < at) {
    const detail::seen_letter seen = detail::letter_at(text, from);
    if (seen.kind != letter_kind::space) begin = at;
    else if (begin == at) begin = from;
    from = seen.end;
  }
  return begin;
}

MOTET_BODY void tokenizer::append_replaced(std::string& out, std::string_view text, std::string_view from,
                                           std::string_view to) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = std::min(text.find(from, at), text.size());
    out += text.substr(at, found - at);
    if (found < text.size()) out += to;
    at = found + from.size();
  }
}

MOTET_BODY int tokenizer::byte_of(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  int value = 0;
  for (const char c : text.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return -1;
    value = 16 * value + digit;
  }
  return value;
}

MOTET_BODY void tokenizer::enter_bytes() {
  const bool closed = !is_of_language_model(parts_.rule);
  for (std::size_t i = 0; i < plain_; ++i) {
    if (closed && parts_.texts[i].empty()) fail(bad_vocabulary, sentence({"token ", i, " is empty"}));
    if (parts_.texts[i].size() == 1)
      (parts_.ends_word[i] ? last_ : single_)[static_cast<unsigned char>(parts_.texts[i][0])] =
          static_cast<token>(i);
  }
  if (parts_.rule != piece_rule::clip) last_ = single_;
  for (int byte = 0; byte < 256; ++byte) {
    if (single_[as_size(byte)] < 0 || last_[as_size(byte)] < 0)
      fail(bad_vocabulary, "it has no token for byte " + std::to_string(byte));
  }
}

MOTET_BODY void tokenizer::enter_characters(lookups& into) {
  for (std::size_t i = 0; i < plain_; ++i) {
    const std::string& text = parts_.texts[i];
    if (const int byte = byte_of(text); byte >= 0) single_[as_size(byte)] = static_cast<token>(i);
    if (!text.empty() && utf8_length(text, 0) == text.size())
      into.characters.emplace(utf8_decode(text, 0, text.size()), static_cast<token>(i));
  }
}

MOTET_BODY const added_token* tokenizer::added_at(std::string_view text, std::size_t at) const {
  for (const std::size_t size : added_sizes_[static_cast<unsigned char>(text[at])])
    if (at + size <= text.size())
      if (const auto found = lookups_->added.find(std::string(text.substr(at, size)));
          found != lookups_->added.end())
        return &parts_.added[found->second];
  return nullptr;
}

MOTET_BODY void tokenizer::encode_stretch(std::string_view text, bool first, std::vector<token>& out,
                                          scratch& work) const {
  using space = typename parts::space;
  if (text.empty()) return;
  if (parts_.compose) {
    work.composed.clear();
    append_composed(work.composed, text);
    text = work.composed;
  }
  if (parts_.lower) {
    work.text.clear();
    append_lower_case(work.text, text);
    text = work.text;
  }
  const std::string_view letter = parts_.characters ? space_letter : std::string_view(" ");
  const bool leads = parts_.lead == space::always ||
                     (!text.starts_with(' ') && !text.starts_with(letter) &&
                      (parts_.lead == space::missing || (parts_.lead == space::begin && first)));
  if (parts_.characters || leads) {
    work.stretch.clear();
    if (leads) work.stretch += letter;
    append_replaced(work.stretch, text, " ", letter);
    text = work.stretch;
  }
  for_each_piece(text, parts_.rule, [&](std::string_view piece) {
    if (parts_.keep_pieces)
      if (const auto found = lookups_->whole.find(std::string(piece)); found != lookups_->whole.end())
        return out.push_back(found->second);
    encode_piece(piece, out, work);
  });
}

MOTET_BODY std::string_view tokenizer::clipped(std::string_view text, isize context) const {
  // Tokens are at most this long; a factor of two leaves room for white space that rule `clip` drops.
  constexpr std::size_t longest = 256;
  const std::size_t enough = as_size(context) * longest * 2;
  return text.size() > enough ? text.substr(0, enough) : text;
}

MOTET_BODY void tokenizer::append_characters(std::string_view piece, std::vector<token>& symbols) const {
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(piece, at));
    const std::uint32_t point =
        utf8_length(piece, at) == 0 ? ~std::uint32_t{0} : utf8_decode(piece, at, length);
    const std::string_view bytes = piece.substr(at, length);
    at += length;
    if (const auto found = lookups_->characters.find(point); found != lookups_->characters.end()) {
      symbols.push_back(found->second);
    } else if (std::all_of(bytes.begin(), bytes.end(),
                           [&](char c) { return single_[static_cast<unsigned char>(c)] >= 0; })) {
      for (const char c : bytes) symbols.push_back(single_[static_cast<unsigned char>(c)]);
    } else if (parts_.unknown >= 0 &&
               !(parts_.join_unknown && !symbols.empty() && symbols.back() == parts_.unknown)) {
      symbols.push_back(parts_.unknown);
    }
  }
}

MOTET_BODY void tokenizer::encode_piece(std::string_view piece, std::vector<token>& out,
                                        scratch& work) const {
  auto& [text, composed, stretch, symbols, next, before, heap] = work;
  symbols.clear();
  if (parts_.characters) {
    append_characters(piece, symbols);
  } else {
    for (std::size_t at = 0; at < piece.size(); ++at)
      symbols.push_back((at + 1 == piece.size() ? last_ : single_)[static_cast<unsigned char>(piece[at])]);
  }
  const auto count = static_cast<isize>(symbols.size());
  next.resize(symbols.size());
  before.resize(symbols.size());
  heap.clear();
  for (isize i = 0; i < count; ++i) {
    next[as_size(i)] = i + 1;
    before[as_size(i)] = i - 1;
  }
  // Entries are (rank, place) in one number, so that the smallest is the next to do, and the token it
  // makes, which shows whether it is still true.
  const auto offer = [&](isize left) {
    if (left < 0) return;
    const isize right = next[as_size(left)];
    if (right >= count) return;
    const auto found = lookups_->ranks.find(key({symbols[as_size(left)], symbols[as_size(right)]}));
    if (found == lookups_->ranks.end()) return;
    heap.emplace_back((static_cast<std::int64_t>(found->second) << 32) | left,
                      parts_.merges[as_size(found->second)].to);
    std::push_heap(heap.begin(), heap.end(), std::greater<>{});
  };
  for (isize i = 0; i + 1 < count; ++i) offer(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>{});
    const auto [order, made] = heap.back();
    heap.pop_back();
    const auto left = as_size(order & 0xffffffff);
    const pair wanted = parts_.merges[as_size(order >> 32)].from;
    if (symbols[left] != wanted.first || next[left] >= count) continue;
    const auto right = as_size(next[left]);
    if (symbols[right] != wanted.second) continue;
    symbols[left] = made;
    symbols[right] = -1;
    next[left] = next[right];
    if (next[left] < count) before[as_size(next[left])] = static_cast<isize>(left);
    offer(before[left]);
    offer(static_cast<isize>(left));
  }
  for (isize i = 0; i < count; i = next[as_size(i)]) out.push_back(symbols[as_size(i)]);
}

}  // namespace motet
#endif
