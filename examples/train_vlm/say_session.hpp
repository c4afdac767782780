// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models.hpp"

#include <motet/front/trained/speaker.hpp>
#include <motet/model/merged_weights.hpp>
#include <motet/nn/layers/pictured_text.hpp>
#include <motet/run/tower_words.hpp>
#include <motet/run/trained_session.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

namespace motet::train_vlm {

// A language model that sees: of each sample it is given some pieces, and asked for others. Of a pair, as
// benchmarks have them, it is given the picture, and asked for the caption.
template <class Device, vit_config Eye, decoder_config Words, say_form Form, class Numbers>
class say_session final : public trained_session<say_session<Device, Eye, Words, Form, Numbers>, Device,
                                                 say_model<Eye, Words, Form>, Numbers> {
 public:
  using net = say_net<Eye, Words, Form.squares>;
  static constexpr isize lead = lead_of(Eye, Form.squares), rows_of_picture = net::eye::rows_of_picture,
                         rows_shown = rows_of_picture - lead, most_pictures = net::most_pictures;

  say_session(const char* name, const session_request& wanted)
      : say_session::trained_session(facts(name), wanted) {}

  // The result is valid until the next call.
  typename say_model<Eye, Words, Form>::batch inputs(const step_input& batch) {
    if (const auto* const pieces = std::get_if<pictured_tokens>(&batch)) {
      const pictured_tokens& all = *pieces;
      row_offsets_.clear();
      for (isize s = 0; s <= all.seq.samples; ++s)
        row_offsets_.push_back(all.picture_offsets == nullptr ? 0 : all.picture_offsets[s] * rows_of_picture);
      return {seen_pictures{all.seen, all.seq.samples, all.picture_offsets},
              placed_tokens{all, row_offsets_.data(), all.places}};
    }
    const auto& [shown, captions] = std::get<pair_input>(batch);
    text_.clear();
    for (isize s = 0; s < shown.samples; ++s) {
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
  std::vector<std::int32_t> say(const pictured_tokens& sample, std::int32_t end, isize most) override {
    // All numbers are there since gather().
    if (!speaker_) speaker_.emplace(this->trained().device(), weights_.data());
    std::vector<std::int32_t> said = speaker_->say_after(sample, {.most = most, .end = end}).tokens;
    if (!said.empty() && said.back() == end) said.pop_back();
    return said;
  }
  void gather() override {
    weights_ = merged_weights<say_model<Eye, Words, Form>>(
        this->tests_averages() ? this->trained().averages() : this->trained().weights());
    speaker_.reset();
  }
  double loss_of(const step_input& batch) override {
    pictured_tokens whole = std::get<pictured_tokens>(batch);
    const std::span<const std::int32_t> targets(whole.targets, as_size(whole.seq.rows()));
    whole.share =
        1.0 / static_cast<double>(std::max<std::ptrdiff_t>(
                  1, std::count_if(targets.begin(), targets.end(), [](auto id) { return id >= 0; })));
    std::vector<float> losses(as_size(whole.seq.samples));
    const auto run = [&](cpu::context& ctx) {
      net::infer(ctx, motet::weights<Numbers>{weights_.data()}, whole,
                 view<float, 1>(losses.data(), whole.seq.samples));
    };
    cpu::device& device = this->trained().device();
    device.prepare(device.dry_run(run));
    device.run(run, {0, 0, 0, false});
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

 private:
  static session_facts facts(const char* name) {
    // A language model is known as a text tower is.
    constexpr text_config words{.vocabulary = Words.vocabulary,
                                .context = Words.context - most_pictures * rows_shown,
                                .width = Words.width,
                                .layers = Words.layers,
                                .heads = Words.heads};
    session_facts out{.name = name, .loss = {}, .precision = {}, .shape = {}};
    out.shape = {name, Eye.image,    Words.vocabulary, Words.context, /*pieces=*/true, rows_of_picture,
                 lead, most_pictures};
    out.caption = words.context;
    out.outline = {outline_of(Eye), outline_of(words)};
    out.parts = {{"eye", words_of(Eye)}, {"language model", words_of(words)}};
    return out;
  }

  pictured_text text_{rows_of_picture, lead};
  std::vector<isize> row_offsets_;
  std::vector<float> weights_;
  std::optional<speaker<net>> speaker_;
};

template <class Device, vit_config Eye, decoder_config Words, say_form Form = say_form{}>
std::unique_ptr<session> make_say_session(const char* name, const session_request& wanted) {
  if (wanted.precision == "fp32")
    return std::make_unique<say_session<Device, Eye, Words, Form, fp32>>(name, wanted);
  if constexpr (trains_in_bf16<Device>)
    return std::make_unique<say_session<Device, Eye, Words, Form, mixed_bf16>>(name, wanted);
  else refuse_precision(wanted.precision);
}

}  // namespace motet::train_vlm
