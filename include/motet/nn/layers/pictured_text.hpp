// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/entering_rows.hpp>
#include <motet/nn/layers/pictured_tokens.hpp>

#include <initializer_list>
#include <span>
#include <tuple>
#include <vector>

namespace motet {

// Puts samples together out of words and pictures, in any order:
//   text.show();                            the next picture stands here
//   text.say(question, said::given);        words that are given
//   text.say(answer, said::asked);          words that the model is to say, each after all that is before it
//   text.end();                             of the sample
// `rows_of_picture` are those that the model's eye makes of one, of which the first `lead` are not shown,
// such as that of a class token. What is asked for is counted, and the share of one target follows from it;
// where ranks or microbatches put parts of a step together, set the share of the step instead. Where several
// modules feed the language model, each has a kind of pictures of its own, in the order of the model's edges.
// Asks for: pictures in the order in which samples show them, and end() behind each sample.
// Memory: an id and a target for each row, a place for each row of a picture; kept when it is cleared.
// Errors: none of its own.
// Example:
//   pictured_tokens one(const pictures& seen, std::span<const std::int32_t> answer, pictured_text& text) {
//     text.clear();
//     text.show();
//     text.say(answer, pictured_text::said::asked);
//     text.end();
//     return text.with(seen);
//   }
class pictured_text {
 public:
  enum class said : std::uint8_t { given, asked };
  struct kind {
    isize rows_of_picture, lead = 0;
  };

  explicit pictured_text(isize rows_of_picture, isize lead = 0)
      : pictured_text{kind{rows_of_picture, lead}} {}
  explicit pictured_text(std::initializer_list<kind> kinds) {
    for (const kind& each : kinds) shown_.push_back({each});
  }

  void clear() {
    ids_.clear(), targets_.clear();
    offsets_.assign(1, 0);
    for (shown& each : shown_) each.clear();
    asked_ = 0;
  }
  void show(isize which = 0) { show(which, shown_[as_size(which)].of.rows_of_picture); }
  // Of pictures of any shape each has rows of its own number, the first `lead` included.
  void show(isize which, isize rows_of_this) {
    shown& own = shown_[as_size(which)];
    ++own.pictures;
    for (isize row = 0; row < rows_of_this; ++row) {
      if (row < own.of.lead) {
        own.places.push_back(-1);
        continue;
      }
      own.places.push_back(static_cast<std::int32_t>(ids_.size()));
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
    for (shown& each : shown_) {
      each.picture_offsets.push_back(each.pictures);
      each.row_offsets.push_back(static_cast<isize>(each.places.size()));
    }
  }

  isize rows() const { return static_cast<isize>(ids_.size()); }
  isize asked() const { return asked_; }
  // The samples that have ended, with their pictures in order; valid until the next change. Pictures are of
  // one kind, and the second one, where there is one, is sounds.
  pictured_tokens with(const pictures& all, const sounds& heard = {}) const {
    pictured_tokens out{words(), all, shown_[0].picture_offsets.data(), shown_[0].places.data()};
    if (shown_.size() > 1) out.heard = seen(1, heard), out.heard_places = shown_[1].places.data();
    return out;
  }
  // The eye and the language model may be modules of their own.
  std::tuple<seen_pictures, placed_tokens> apart(const pictures& all) const {
    return {seen(0, all), placed_tokens{words(), shown_[0].row_offsets.data(), shown_[0].places.data()}};
  }
  // Several modules may feed a language model: this is what each sees, or hears, and where all their rows
  // have places.
  template <class Each>
  several<Each> seen(isize which, const Each& all) const {
    return {all, samples(), shown_[as_size(which)].picture_offsets.data()};
  }
  placed_tokens placed() {
    places_.clear(), row_offsets_.clear();
    for (const shown& each : shown_) {
      places_.insert(places_.end(), each.places.begin(), each.places.end());
      row_offsets_.insert(row_offsets_.end(), each.row_offsets.begin(), each.row_offsets.end());
    }
    return {words(), row_offsets_.data(), places_.data(), {}, static_cast<isize>(shown_.size())};
  }

 private:
  // `shown` is what a module sees of the samples.
  struct shown {
    kind of;
    isize pictures = 0;
    std::vector<std::int32_t> places{};
    std::vector<isize> picture_offsets{0}, row_offsets{0};
    void clear() {
      pictures = 0;
      places.clear();
      for (auto* each : {&picture_offsets, &row_offsets}) each->assign(1, 0);
    }
  };

  isize samples() const { return static_cast<isize>(offsets_.size()) - 1; }
  labelled_tokens words() const {
    return {{ids_.data(), {samples(), 0, offsets_.data()}},
            targets_.data(),
            1 / static_cast<double>(asked_ > 0 ? asked_ : 1)};
  }
  void add(std::int32_t id) {
    ids_.push_back(id);
    targets_.push_back(-1);
  }

  std::vector<shown> shown_;
  isize asked_ = 0;
  std::vector<std::int32_t> ids_, targets_;
  std::vector<isize> offsets_{0};
  std::vector<std::int32_t> places_;  // of all kinds, for placed()
  std::vector<isize> row_offsets_;
};

}  // namespace motet
