// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../train_clip/typed_session.hpp"
#include "models.hpp"

#include <motet/front/picture_speaker.hpp>

namespace motet::train_clip {

// A language model that sees: of each pair it is given the picture, and asked for the caption.
template <class Device, vit_config Eye, decoder_config Words, class Numbers>
class say_session final : public trained_session<say_session<Device, Eye, Words, Numbers>, Device,
                                                 say_model<Eye, Words>, Numbers> {
 public:
  using net = say_net<Eye, Words>;
  static constexpr index lead = lead_of(Eye), rows_of_picture = net::eye::rows_of_picture,
                         rows_shown = rows_of_picture - lead;

  say_session(const char* name, const session_request& wanted)
      : say_session::trained_session(
            {name, {}, {}, Eye, facts_of_words(Words, rows_shown), 0, /*speaks=*/true}, wanted) {}

  // Valid until the next call.
  typename say_model<Eye, Words>::batch inputs(const pair_input& batch) {
    const auto& [shown, captions] = batch;
    text_.clear();
    for (index s = 0; s < shown.samples; ++s) {
      const std::span<const std::int32_t> words(captions.ids + captions.seq.begin(s),
                                                as_size(captions.seq.rows_of(s)));
      text_.show();
      // The first one only says that a caption begins.
      text_.say(words.first(std::min<std::size_t>(1, words.size())), pictured_text::said::given);
      if (!words.empty()) text_.say(words.subspan(1), pictured_text::said::asked);
      text_.end();
    }
    return text_.apart(shown);
  }
  void expect(const pair_input&) override {}
  void embed(const pictures&, float*) override {}
  void embed(const tokens&, float*) override {}
  std::vector<std::vector<std::int32_t>> say(const pictures& shown, std::int32_t begin,
                                             std::int32_t end) override {
    // All numbers are there since gather().
    picture_speaker<net> speaker(this->trained().device(), weights_.data());
    return speaker.say(shown, {begin, end, Words.context - rows_shown - 1}, lead);
  }
  void gather() override { weights_ = this->trained().weights(); }

 private:
  pictured_text text_{rows_of_picture, lead};
  std::vector<float> weights_;
};

template <class Device, vit_config Eye, decoder_config Words>
std::unique_ptr<session> make_say_session(const char* name, const session_request& wanted) {
  if (wanted.precision != "fp32")
    return std::make_unique<say_session<Device, Eye, Words, mixed_bf16>>(name, wanted);
  return std::make_unique<say_session<Device, Eye, Words, fp32>>(name, wanted);
}

}  // namespace motet::train_clip
