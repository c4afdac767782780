// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/noised_pictures.hpp>
#include <motet/nn/layers/pictured_text.hpp>
#include <motet/tools/feed.hpp>
#include <motet/tools/messages.hpp>

#include <vector>

namespace motet::train_vlm {

// A step's samples as a model that draws has them: the last picture of each is drawn, and what is before and
// behind it is told: other pictures, and words. Of a pair the words are told and its picture is drawn. Of
// some samples nothing is told, so that the model also learns what pictures are like, whatever is said.
class drawn_samples {
 public:
  // Rows and numbers of a picture.
  drawn_samples(isize rows, isize numbers) : rows_(rows), numbers_(numbers), text_(rows) {}

  // The draws say of which samples nothing is told, so many of all. Valid as long as the batch.
  void take(const step_input& batch, const noise_draws& draws, float forgotten) {
    text_.clear();
    if (const auto* const pieces = std::get_if<pictured_tokens>(&batch))
      take_pieces(*pieces, draws, forgotten);
    else take_pairs(std::get<pair_input>(batch), draws, forgotten);
  }

  pictured_tokens told() const { return text_.with(seen_.get()); }
  std::tuple<seen_pictures, placed_tokens> apart() const { return text_.apart(seen_.get()); }
  pictures drawn() const { return drawn_; }

 private:
  // Some of the pictures of a batch, in another place or where they are.
  class some {
   public:
    void begin(const pictures& all, isize numbers) {
      all_ = all, numbers_ = numbers;
      pixels_.clear(), packed_.clear(), count_ = 0;
    }
    void add(isize which) {
      ++count_;
      if (all_.are_packed()) packed_.push_back(all_.packed.each[which]);
      else
        pixels_.insert(pixels_.end(), all_.pixels + which * numbers_, all_.pixels + (which + 1) * numbers_);
    }
    pictures get() const {
      pictures out{pixels_.data(), count_, all_.packed};
      out.packed.each = packed_.data();
      return out;
    }

   private:
    pictures all_{};
    isize numbers_ = 0, count_ = 0;
    std::vector<float> pixels_;
    std::vector<packed_picture> packed_;
  };

  void take_pairs(const pair_input& batch, const noise_draws& draws, float forgotten) {
    const auto& [shown, captions] = batch;
    seen_.begin({}, numbers_);
    drawn_ = shown;
    for (isize s = 0; s < shown.samples; ++s) {
      if (!draws.forgets_class(s, forgotten))
        text_.say({captions.ids + captions.seq.begin(s), as_size(captions.seq.rows_of(s))},
                  pictured_text::said::given);
      text_.end();
    }
  }
  void take_pieces(const pictured_tokens& all, const noise_draws& draws, float forgotten) {
    seen_.begin(all.seen, numbers_);
    last_.begin(all.seen, numbers_);
    for (isize s = 0; s < all.seq.samples; ++s) {
      const isize last = all.picture_offsets[s + 1] - 1;
      if (last < all.picture_offsets[s])
        fail(bad_option_value, sentence({"sample ", s, " of a step has no picture to draw"}));
      last_.add(last);
      if (!draws.forgets_class(s, forgotten)) tell(all, s, last);
      text_.end();
    }
    drawn_ = last_.get();
  }
  // All of a sample but the rows of its last picture.
  void tell(const pictured_tokens& all, isize sample, isize last) {
    isize picture = all.picture_offsets[sample];
    for (isize row = all.seq.begin(sample); row < all.seq.end(sample); ++row) {
      if (all.ids[row] >= 0) {
        text_.say({all.ids + row, 1}, pictured_text::said::given);
        continue;
      }
      if (picture < last) {
        text_.show();
        seen_.add(picture);
      }
      ++picture;
      row += rows_ - 1;
    }
  }

  isize rows_, numbers_;
  pictured_text text_;
  some seen_, last_;
  pictures drawn_{};
};

}  // namespace motet::train_vlm
