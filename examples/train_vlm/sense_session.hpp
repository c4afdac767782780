// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sense_speaker.hpp"

#include <motet/nn/layers/pictured_text.hpp>
#include <motet/run/tower_words.hpp>
#include <motet/run/trained_session.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

namespace motet::train_vlm {

// A language model that sees and hears: of each sample it is given some pieces, and asked for others. Of a
// pair, as benchmarks have them, it is given the picture, a square, and asked for the caption.
template <class Device, vit_config Eye, sound_config Ear, decoder_config Words, class Numbers>
class sense_session final : public trained_session<sense_session<Device, Eye, Ear, Words, Numbers>, Device,
                                                   sense_model<Eye, Ear, Words>, Numbers> {
 public:
  using own_model = sense_model<Eye, Ear, Words>;
  using parts = sense_parts<Eye, Ear, Words>;
  static_assert(Eye.most_patches > 0, "pictures have any shape here");
  static constexpr isize rows_of_picture = parts::eye::rows_of_picture,
                         rows_of_sound = parts::ear::rows_of_sound,
                         rows_shown = rows_of_picture - parts::lead;

  sense_session(const char* name, const session_request& wanted)
      : sense_session::trained_session(facts(name), wanted) {}

  // The result is valid until the next call.
  typename own_model::batch inputs(const step_input& batch) {
    const pictured_tokens all = pieces_of(batch);
    return {seen_pictures{all.seen, all.seq.samples, all.picture_offsets}, all.heard, places_.of(all)};
  }
  void gather() override {
    sense_session::trained_session::gather();
    weights_ = this->tests_averages() ? this->trained().averages() : this->trained().weights();
    speaker_.emplace(this->trained().device(), weights_.data());
  }
  std::vector<std::int32_t> say(const pictured_tokens& sample, std::int32_t end, isize most) override {
    std::vector<std::int32_t> said =
        speaker_->say_after(sample, {.most = most, .end = end}, [](std::int32_t) {}).tokens;
    if (!said.empty() && said.back() == end) said.pop_back();
    return said;
  }
  double loss_of(const step_input& batch) override {
    pictured_tokens whole = pieces_of(batch);
    const std::span<const std::int32_t> targets(whole.targets, as_size(whole.seq.rows()));
    const auto asked = std::count_if(targets.begin(), targets.end(), [](auto id) { return id >= 0; });
    whole.share = 1.0 / static_cast<double>(std::max<std::ptrdiff_t>(1, asked));
    const std::vector<float> losses = speaker_->losses_of(whole);
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

 private:
  pictured_tokens pieces_of(const step_input& batch) {
    if (const auto* const pieces = std::get_if<pictured_tokens>(&batch)) return *pieces;
    const auto& [shown, captions] = std::get<pair_input>(batch);
    text_.clear();
    grids_.clear();
    for (isize s = 0; s < shown.samples; ++s) {
      const std::span<const std::int32_t> words(captions.ids + captions.seq.begin(s),
                                                as_size(captions.seq.rows_of(s)));
      grids_.add(Eye.image / Eye.patch, Eye.image / Eye.patch);
      text_.show(0, grids_.rows_of(s));
      text_.say(words.first(std::min<std::size_t>(1, words.size())), pictured_text::said::given);
      if (!words.empty()) text_.say(words.subspan(1), pictured_text::said::asked);
      text_.end();
    }
    return text_.with(grids_.with(shown.pixels));
  }

  static session_facts facts(const char* name) {
    // A language model is known as a text tower is.
    constexpr text_config words{.vocabulary = Words.vocabulary,
                                .context = Words.context - rows_shown - rows_of_sound,
                                .width = Words.width,
                                .layers = Words.layers,
                                .heads = Words.heads};
    session_facts out{.name = name, .loss = {}, .precision = {}, .shape = {}};
    out.shape = {.model = name,
                 .image = Eye.image,
                 .vocabulary = Words.vocabulary,
                 .context = Words.context,
                 .pieces = true,
                 .rows_of_picture = rows_of_picture,
                 .lead = parts::lead,
                 .heard = {.most = 1, .rows = rows_of_sound, .bins = Ear.bins, .frames = Ear.frames},
                 .shapes = {.patch = Eye.patch, .most_patches = Eye.most_patches}};
    out.caption = words.context;
    const std::string ear = sentence({Ear.layers, " layers of width ", Ear.width, ", ", Ear.heads, " heads, ",
                                      Ear.frames, " frames of ", Ear.bins, " bins"});
    out.outline = {outline_of(Eye), {"ear", ear}, outline_of(words)};
    out.parts = {{"eye", words_of(Eye)}, {"ear", ear}, {"language model", words_of(words)}};
    return out;
  }

  sensed_places places_{rows_of_picture, rows_of_sound};
  pictured_text text_{{rows_of_picture, parts::lead}, {rows_of_sound}};
  picture_grids grids_{Eye.patches().numbers_of_patch(), parts::lead};
  std::vector<float> weights_;
  std::optional<sense_speaker<own_model, Numbers>> speaker_;
};

template <class Device, vit_config Eye, sound_config Ear, decoder_config Words>
std::unique_ptr<session> make_sense_session(const char* name, const session_request& wanted) {
  if (wanted.precision == "fp32")
    return std::make_unique<sense_session<Device, Eye, Ear, Words, fp32>>(name, wanted);
  if constexpr (trains_in_bf16<Device>)
    return std::make_unique<sense_session<Device, Eye, Ear, Words, mixed_bf16>>(name, wanted);
  else refuse_precision(wanted.precision);
}

}  // namespace motet::train_vlm
