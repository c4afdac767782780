// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/entering_rows.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace motet {

// The samples of an upper_decoder that says captions: each is the rows of its picture, then those of its
// caption, and each of the latter is asked for the token behind it. Of a picture's rows the first `lead` are
// not shown, such as that of a class token.
// Asks for: a picture for each caption; a model whose edge of pictures comes before that of words.
// Memory: an id, a target and a place for each row, kept from step to step.
// Errors: none of its own.
// Example:
//   placed_tokens asked(const tokens& captions, caption_places& places) { return places.of(captions); }
class caption_places {
 public:
  explicit caption_places(isize rows_of_picture, isize lead = 0)
      : rows_of_picture_(rows_of_picture), lead_(lead) {}

  // Valid until the next call.
  placed_tokens of(const tokens& captions) {
    const sequences& said = captions.seq;
    const isize shown = rows_of_picture_ - lead_, rows = said.samples * shown + said.rows();
    ids_.assign(as_size(rows), -1);
    targets_.assign(as_size(rows), -1);
    offsets_.assign(1, 0);
    row_offsets_.clear();
    places_.clear();
    isize asked = 0;
    for (isize s = 0; s < said.samples; ++s) {
      const isize first = offsets_.back() + shown, count = said.rows_of(s);
      for (isize row = 0; row < rows_of_picture_; ++row)
        place(row < lead_ ? -1 : offsets_.back() + row - lead_);
      for (isize k = 0; k + 1 < count; ++k)
        targets_[as_size(first + k)] = captions.ids[said.begin(s) + k + 1];
      asked += std::max<isize>(0, count - 1);
      offsets_.push_back(first + count);
    }
    for (isize s = 0; s < said.samples; ++s)
      for (isize k = 0; k < said.rows_of(s); ++k) place(offsets_[as_size(s)] + shown + k);
    for (isize s = 0; s <= said.samples; ++s) row_offsets_.push_back(s * rows_of_picture_);
    for (isize s = 0; s <= said.samples; ++s) row_offsets_.push_back(said.begin(s));
    return {{{ids_.data(), {said.samples, 0, offsets_.data()}},
             targets_.data(),
             1 / static_cast<double>(std::max<isize>(1, asked))},
            row_offsets_.data(),
            places_.data(),
            {},
            2,
            {}};
  }

 private:
  void place(isize row) { places_.push_back(static_cast<std::int32_t>(row)); }

  isize rows_of_picture_, lead_;
  std::vector<std::int32_t> ids_, targets_, places_;
  std::vector<isize> offsets_, row_offsets_;
};

}  // namespace motet
