// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/entering_rows.hpp>
#include <motet/nn/layers/pictured_tokens.hpp>

#include <span>
#include <tuple>
#include <vector>

namespace motet {

// Puts samples together out of words and pictures, in any order:
//   text.show();                            the next picture stands here
//   text.say(question, said::given);        words that are given
//   text.say(answer, said::asked);          words that the model is to say, each after all that is before it
//   text.end();                             of the sample
// `rows_of_picture` are those that the model's eye makes of one, of which the first `lead` are not shown, such
// as that of a class token. What is asked for is counted, and the share of one target follows from it; where
// ranks or microbatches put parts of a step together, set the share of the step instead.
class pictured_text {
 public:
  enum class said : std::uint8_t { given, asked };

  explicit pictured_text(index rows_of_picture, index lead = 0) : rows_(rows_of_picture), lead_(lead) {}

  void clear() {
    ids_.clear(), targets_.clear(), places_.clear();
    offsets_.assign(1, 0), picture_offsets_.assign(1, 0), row_offsets_.assign(1, 0);
    pictures_ = asked_ = 0;
  }
  void show() {
    ++pictures_;
    for (index row = 0; row < rows_; ++row) {
      if (row < lead_) {
        places_.push_back(-1);
        continue;
      }
      places_.push_back(static_cast<std::int32_t>(ids_.size()));
      add(-1);
    }
  }
  // Nothing is before the first row of a sample, so nobody asks for it.
  void say(std::span<const std::int32_t> words, said how) {
    for (const std::int32_t word : words) {
      if (how == said::asked && rows() > offsets_.back()) {
        targets_.back() = word;
        ++asked_;
      }
      add(word);
    }
  }
  void end() {
    offsets_.push_back(rows());
    picture_offsets_.push_back(pictures_);
    row_offsets_.push_back(static_cast<index>(places_.size()));
  }

  index rows() const { return static_cast<index>(ids_.size()); }
  index asked() const { return asked_; }
  // The samples that have ended, with their pictures in order; valid until the next change.
  pictured_tokens with(const pictures& shown) const {
    return {words(), shown, picture_offsets_.data(), places_.data()};
  }
  // The same for an eye and a language model that are modules of their own.
  std::tuple<seen_pictures, placed_tokens> apart(const pictures& shown) const {
    return {seen_pictures{shown, samples(), picture_offsets_.data()},
            placed_tokens{words(), row_offsets_.data(), places_.data()}};
  }

 private:
  index samples() const { return static_cast<index>(offsets_.size()) - 1; }
  labelled_tokens words() const {
    return {{ids_.data(), {samples(), 0, offsets_.data()}},
            targets_.data(),
            1 / static_cast<double>(asked_ > 0 ? asked_ : 1)};
  }
  void add(std::int32_t id) {
    ids_.push_back(id);
    targets_.push_back(-1);
  }

  index rows_, lead_, pictures_ = 0, asked_ = 0;
  std::vector<std::int32_t> ids_, targets_, places_;
  std::vector<index> offsets_{0}, picture_offsets_{0}, row_offsets_{0};
};

}  // namespace motet
