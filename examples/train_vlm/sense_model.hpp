// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models.hpp"

#include <motet/nn/layers/pictured_tokens.hpp>
#include <motet/nn/towers/sound_rows.hpp>

#include <vector>

// A model that sees and hears: an eye and an ear, each with a projector, feed one language model, in whose
// texts rows of pictures and of sounds have places.
namespace motet::train_vlm {

template <vit_config Eye, sound_config Ear, decoder_config Words>
struct sense_parts {
  using eye = vit_rows<Eye, false>;
  using ear = sound_rows<Ear>;
  using talk = fed_decoder<Words, eye::rows_of_picture + ear::rows_of_sound>;
  static constexpr isize lead = lead_of(Eye);
};
template <vit_config Eye, sound_config Ear, decoder_config Words>
using sense_model = model<modules<module<"eye", typename sense_parts<Eye, Ear, Words>::eye>,
                                  module<"glue", projector<Eye.width, Words.width>>,
                                  module<"ear", typename sense_parts<Eye, Ear, Words>::ear>,
                                  module<"tune", projector<Ear.width, Words.width>>,
                                  module<"talk", typename sense_parts<Eye, Ear, Words>::talk>>,
                          edge<"eye", "glue">, edge<"ear", "tune">, edge<"glue", "talk">,
                          edge<"tune", "talk">, loss<next_token, "talk">>;

// Where the rows of both have places in a batch: those of pictures first, as their edge is.
class sensed_places {
 public:
  sensed_places(isize rows_of_picture, isize rows_of_sound)
      : rows_of_picture_(rows_of_picture), rows_of_sound_(rows_of_sound) {}

  // Valid until the next call, and as long as the batch.
  placed_tokens of(const pictured_tokens& all) {
    const auto seen_before = [&](isize picture) { return all.seen.rows_before(picture, rows_of_picture_); };
    places_.assign(all.places, all.places + seen_before(all.seen.samples));
    places_.insert(places_.end(), all.heard_places, all.heard_places + all.heard.samples * rows_of_sound_);
    row_offsets_.clear();
    for (isize s = 0; s <= all.seq.samples; ++s) row_offsets_.push_back(seen_before(all.picture_offsets[s]));
    for (isize s = 0; s <= all.seq.samples; ++s) row_offsets_.push_back(all.heard.before(s) * rows_of_sound_);
    return {all, row_offsets_.data(), places_.data(), {}, 2};
  }

 private:
  isize rows_of_picture_, rows_of_sound_;
  std::vector<std::int32_t> places_;
  std::vector<isize> row_offsets_;
};

inline constexpr sound_config sense_quick_ear{
    .bins = 80, .frames = 64, .width = 128, .layers = 2, .heads = 4};
// A picture, a sound and 32 rows of text.
inline constexpr decoder_config sense_quick_words{
    .vocabulary = 1024, .context = 64 + 32 + 32, .width = 128, .layers = 2, .heads = 4, .hidden = 384};
// The eye of say-quick, for pictures of any shape of as many patches.
inline constexpr vit_config sense_quick_eye = [] {
  vit_config c = say_quick_eye;
  c.most_patches = c.patches().patches();
  return c;
}();
using sense_quick_model = sense_model<sense_quick_eye, sense_quick_ear, sense_quick_words>;

}  // namespace motet::train_vlm
