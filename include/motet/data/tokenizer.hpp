// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/lower_case.hpp>
#include <motet/data/messages.hpp>
#include <motet/data/pieces.hpp>
#include <motet/meta/config.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace motet {

// Byte-level byte-pair encoding. Every byte is a token of its own, so there is no unknown text. The last two
// tokens are the begin and the end of a caption, and the end has the highest number of all, as CLIP's pooling
// wants it. A constant tokenizer serves any number of threads.
// Training: tokenizer_train.hpp. Files: tokenizer_file.hpp.
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
  };
  // What encoding needs to remember while it works; kept between calls it saves allocations.
  struct scratch {
    std::string text;
    std::vector<token> symbols;
    std::vector<index> next, before;
    std::vector<std::pair<std::int64_t, token>> heap;
  };

  explicit tokenizer(parts from) : parts_(std::move(from)) {
    const auto count = parts_.texts.size();
    if (count < 258)
      fail(bad_vocabulary, sentence({"it has ", count, " tokens, but the bytes, begin and end need 258"}));
    if (parts_.ends_word.empty()) parts_.ends_word.assign(count, false);
    single_.fill(-1);
    last_.fill(-1);
    for (std::size_t i = 0; i + 2 < count; ++i) {
      if (parts_.texts[i].empty()) fail(bad_vocabulary, sentence({"token ", i, " is empty"}));
      if (parts_.texts[i].size() == 1)
        (parts_.ends_word[i] ? last_ : single_)[static_cast<unsigned char>(parts_.texts[i][0])] =
            static_cast<token>(i);
    }
    if (parts_.rule == piece_rule::spaced) last_ = single_;
    for (int byte = 0; byte < 256; ++byte) {
      if (single_[as_size(byte)] < 0 || last_[as_size(byte)] < 0)
        fail(bad_vocabulary, "it has no token for byte " + std::to_string(byte));
    }
    ranks_.reserve(parts_.merges.size());
    for (std::size_t rank = 0; rank < parts_.merges.size(); ++rank) {
      const merge& own = parts_.merges[rank];
      const auto valid = [&](token t) { return t >= 0 && as_size(t) + 2 < count; };
      if (!valid(own.from.first) || !valid(own.from.second) || !valid(own.to))
        fail(bad_vocabulary, sentence({"merge ", rank, " names no token"}));
      ranks_.emplace(key(own.from), static_cast<index>(rank));
    }
  }

  index size() const { return static_cast<index>(parts_.texts.size()); }
  token begin_token() const { return static_cast<token>(size() - 2); }
  token end_token() const { return static_cast<token>(size() - 1); }
  const parts& description() const { return parts_; }

  // Appends the tokens of the text alone.
  void encode_text(std::string_view text, std::vector<token>& out, scratch& work) const {
    if (parts_.lower) {
      work.text.clear();
      append_lower_case(work.text, text);
      text = work.text;
    }
    for_each_piece(text, parts_.rule, [&](std::string_view piece) { encode_piece(piece, out, work); });
  }

  // Appends begin, text, end; what exceeds `context` is cut from the text, never the end. Returns how many
  // tokens were appended.
  index encode(std::string_view text, index context, std::vector<token>& out, scratch& work) const {
    if (context < 2)
      fail(bad_data_option,
           sentence({"a context of ", context, " cannot hold the begin and the end of a caption"}));
    const auto from = static_cast<index>(out.size());
    out.push_back(begin_token());
    // A token covers at most its own bytes, so far longer texts need not be merged to their end.
    encode_text(clipped(text, context), out, work);
    if (static_cast<index>(out.size()) > from + context - 1) out.resize(as_size(from + context - 1));
    out.push_back(end_token());
    return static_cast<index>(out.size()) - from;
  }
  std::vector<token> encode(std::string_view text, index context = 77) const {
    std::vector<token> out;
    scratch work;
    encode(text, context, out, work);
    return out;
  }

  // Begin and end tokens leave no text; numbers that are no tokens throw.
  std::string decode(std::span<const token> tokens) const {
    std::string out;
    for (const token t : tokens) {
      if (t < 0 || t >= size()) fail(bad_vocabulary, sentence({"token ", t, " of a vocabulary of ", size()}));
      if (t >= begin_token()) continue;
      out += parts_.texts[as_size(t)];
      if (parts_.ends_word[as_size(t)]) out += ' ';
    }
    if (parts_.rule == piece_rule::clip && !out.empty() && out.back() == ' ') out.pop_back();
    return out;
  }

 private:
  static std::uint64_t key(pair p) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(p.first)) << 32) |
           static_cast<std::uint32_t>(p.second);
  }

  std::string_view clipped(std::string_view text, index context) const {
    // Tokens are at most this long; a factor of two leaves room for white space that rule `clip` drops.
    constexpr std::size_t longest = 256;
    const std::size_t enough = as_size(context) * longest * 2;
    return text.size() > enough ? text.substr(0, enough) : text;
  }

  // Merges the pair of the lowest rank, the leftmost of equals, until none is left; a heap keeps long garbage
  // from taking quadratic time.
  void encode_piece(std::string_view piece, std::vector<token>& out, scratch& work) const {
    const auto count = static_cast<index>(piece.size());
    auto& [text, symbols, next, before, heap] = work;
    symbols.resize(piece.size());
    next.resize(piece.size());
    before.resize(piece.size());
    heap.clear();
    for (index i = 0; i < count; ++i) {
      const auto at = as_size(i);
      symbols[at] = (i + 1 == count ? last_ : single_)[static_cast<unsigned char>(piece[at])];
      next[at] = i + 1;
      before[at] = i - 1;
    }
    // Entries are (rank, place) in one number, so that the smallest is the next to do, and the token it
    // makes, which shows whether it is still true.
    const auto offer = [&](index left) {
      if (left < 0) return;
      const index right = next[as_size(left)];
      if (right >= count) return;
      const auto found = ranks_.find(key({symbols[as_size(left)], symbols[as_size(right)]}));
      if (found == ranks_.end()) return;
      heap.emplace_back((static_cast<std::int64_t>(found->second) << 32) | left,
                        parts_.merges[as_size(found->second)].to);
      std::push_heap(heap.begin(), heap.end(), std::greater<>{});
    };
    for (index i = 0; i + 1 < count; ++i) offer(i);
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
      if (next[left] < count) before[as_size(next[left])] = static_cast<index>(left);
      offer(before[left]);
      offer(static_cast<index>(left));
    }
    for (index i = 0; i < count; i = next[as_size(i)]) out.push_back(symbols[as_size(i)]);
  }

  parts parts_;
  std::array<token, 256> single_{}, last_{};
  std::unordered_map<std::uint64_t, index> ranks_;
};

}  // namespace motet
