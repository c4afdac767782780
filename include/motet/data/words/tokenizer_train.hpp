// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/words/lower_case.hpp>
#include <motet/data/words/pieces.hpp>
#include <motet/data/words/tokenizer.hpp>

#include <map>
#include <queue>
#include <set>

namespace motet {

// Counts the pieces of captions one after another, then merges the most frequent pair of neighbours until the
// vocabulary is full or no pair occurs twice. Equal counts are decided by the smaller pair, so equal captions
// in any order give equal vocabularies.
// Asks for: captions in UTF-8.
// Memory: each different piece of the captions once, with its count.
// Errors: none of its own.
// Example:
//   tokenizer of_two() {
//     tokenizer_trainer trainer;
//     trainer.add("a red circle");
//     trainer.add("a blue square");
//     return trainer.train(300);
//   }
class tokenizer_trainer {
 public:
  explicit tokenizer_trainer(bool lower = true) : lower_(lower) {}

  void add(std::string_view caption) {
    std::string text;
    if (lower_) {
      append_lower_case(text, caption);
    } else {
      text = caption;
    }
    for_each_piece(text, piece_rule::spaced, [&](std::string_view piece) { ++counts_[std::string(piece)]; });
  }

  // `vocabulary` counts all tokens: bytes, merges, begin and end.
  tokenizer train(isize vocabulary) const {
    using token = tokenizer::token;
    using pair = tokenizer::pair;
    tokenizer::parts made;
    made.lower = lower_;
    for (int byte = 0; byte < 256; ++byte) made.texts.push_back(std::string(1, static_cast<char>(byte)));

    struct word {
      std::vector<token> symbols;
      isize count;
    };
    std::vector<word> words;
    std::map<pair, isize> totals;
    std::map<pair, std::set<isize>> words_with;
    const auto account = [&](isize which, isize sign) {
      const word& own = words[as_size(which)];
      for (std::size_t i = 0; i + 1 < own.symbols.size(); ++i) {
        const pair both{own.symbols[i], own.symbols[i + 1]};
        totals[both] += sign * own.count;
        if (sign > 0) words_with[both].insert(which);
      }
    };
    for (const auto& [piece, count] : counts_) {
      word own{{}, count};
      for (const char c : piece) own.symbols.push_back(static_cast<unsigned char>(c));
      words.push_back(std::move(own));
      account(static_cast<isize>(words.size()) - 1, 1);
    }

    // Counts in the queue may be old; an entry is believed only when it equals the present count.
    struct candidate {
      isize count;
      pair both;
      bool operator<(const candidate& other) const {
        return count != other.count ? count < other.count : both > other.both;
      }
    };
    std::priority_queue<candidate> queue;
    for (const auto& [both, count] : totals) queue.push({count, both});
    while (static_cast<isize>(made.texts.size()) + 2 < vocabulary && !queue.empty()) {
      const auto [count, both] = queue.top();
      queue.pop();
      if (totals[both] != count) continue;
      if (count < 2) break;
      const auto joined = static_cast<token>(made.texts.size());
      made.texts.push_back(made.texts[as_size(both.first)] + made.texts[as_size(both.second)]);
      made.merges.push_back({both, joined});
      const std::set<isize> here = std::move(words_with[both]);
      std::set<pair> changed;
      for (const isize which : here) {
        account(which, -1);
        auto& symbols = words[as_size(which)].symbols;
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) changed.insert({symbols[i], symbols[i + 1]});
        std::size_t kept = 0;
        for (std::size_t i = 0; i < symbols.size(); ++i, ++kept) {
          const bool match =
              i + 1 < symbols.size() && symbols[i] == both.first && symbols[i + 1] == both.second;
          symbols[kept] = match ? joined : symbols[i];
          i += match ? 1 : 0;
        }
        symbols.resize(kept);
        account(which, 1);
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) changed.insert({symbols[i], symbols[i + 1]});
      }
      for (const pair& other : changed) {
        if (const isize now = totals[other]; now > 0) queue.push({now, other});
      }
    }
    made.texts.push_back("<|startoftext|>");
    made.texts.push_back("<|endoftext|>");
    return tokenizer(std::move(made));
  }

 private:
  bool lower_;
  std::map<std::string, isize> counts_;
};

}  // namespace motet
