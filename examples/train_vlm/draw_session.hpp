// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "draw_models.hpp"
#include "drawn_samples.hpp"

#include <motet/model/merged_weights.hpp>
#include <motet/run/tower_words.hpp>
#include <motet/run/trained_session.hpp>

#include <optional>
#include <vector>

namespace motet::train_vlm {

// A model that draws: of each sample it is told all but the last picture, and that one it draws.
template <vit_config Eye, decoder_config Words, drawer_config Canvas, class Numbers>
class draw_session final : public trained_session<draw_session<Eye, Words, Canvas, Numbers>, cpu::device,
                                                  draw_model<Eye, Words, Canvas>, Numbers> {
  using of = draw_model<Eye, Words, Canvas>;
  using base = trained_session<draw_session, cpu::device, of, Numbers>;
  using paints = draw_painter<Eye, Words, Canvas>;
  static_assert(merged_size<of> == paints::parameter_size);
  static_assert(Eye.image == Canvas.image, "pictures are read in one size");

 public:
  draw_session(const char* name, const session_request& wanted)
      : base(facts(name), wanted), seed_(wanted.options.seed) {}

  // The result is valid until the next call.
  typename of::batch inputs(const step_input& batch) {
    const noise_draws draws{.seed = seed_, .step = static_cast<std::uint64_t>(this->updates() + ahead_)};
    samples_.take(batch, draws, Canvas.forgotten);
    const auto [seen, placed] = samples_.apart();
    return {seen, placed, fed_pictures{wanted(draws), placed.seq.offsets}};
  }
  void expect(const step_input& next) override {
    ahead_ = 1;
    base::expect(next);
    ahead_ = 0;
  }
  // Tests draw the same noise each time, and all is told.
  double loss_of(const step_input& batch) override {
    const noise_draws draws{.seed = 0};
    samples_.take(batch, draws, 0);
    return painter().loss(samples_.told(), wanted(draws));
  }
  std::vector<float> paint(const pictured_tokens& samples) override {
    return painter().paint(samples, {.seed = 0, .steps = 20, .guidance = 2});
  }
  void gather() override {
    weights_ =
        merged_weights<of>(this->tests_averages() ? this->trained().averages() : this->trained().weights());
    painter_.reset();
  }

 private:
  // All numbers are there since gather().
  paints& painter() {
    if (!painter_) painter_.emplace(this->trained().device(), weights_.data());
    return *painter_;
  }
  drawn_pictures wanted(const noise_draws& draws) const {
    const pictures drawn = samples_.drawn();
    return {drawn, nullptr, draws, 1 / static_cast<double>(std::max<isize>(1, drawn.samples))};
  }
  static session_facts facts(const char* name) {
    constexpr isize rows = drawing_eye<Eye>::rows_of_picture, all = most_seen + 1;
    constexpr text_config words{.vocabulary = Words.vocabulary,
                                .context = Words.context - most_seen * rows,
                                .width = Words.width,
                                .layers = Words.layers,
                                .heads = Words.heads};
    session_facts out{.name = name, .loss = {}, .precision = {}, .shape = {}};
    // Samples come with all of their pictures, that which is drawn as well.
    out.shape = {name, Eye.image, Words.vocabulary, Words.context + rows, /*pieces=*/true, rows, 0, all, 1};
    out.caption = words.context;
    const std::string canvas =
        sentence({Canvas.image, " x ", Canvas.image, " pixels, patch ", Canvas.patch, ", width ",
                  Canvas.width, ", ", Canvas.layers, " layers, ", Canvas.heads, " heads"});
    out.outline = {outline_of(Eye), outline_of(words), {"drawer", canvas}};
    out.parts = {{"eye", words_of(Eye)}, {"language model", words_of(words)}, {"drawer", canvas}};
    return out;
  }

  std::uint64_t seed_;
  isize ahead_ = 0;  // steps from the next one to that which inputs are for
  drawn_samples samples_{drawing_eye<Eye>::rows_of_picture, paints::pixels};
  std::vector<float> weights_;
  std::optional<paints> painter_;
};

template <vit_config Eye, decoder_config Words, drawer_config Canvas>
std::unique_ptr<session> make_draw_session(const char* name, const session_request& wanted) {
  if (wanted.precision == "fp32")
    return std::make_unique<draw_session<Eye, Words, Canvas, fp32>>(name, wanted);
  if constexpr (trains_in_bf16<cpu::device>)
    return std::make_unique<draw_session<Eye, Words, Canvas, mixed_bf16>>(name, wanted);
  else refuse_precision(wanted.precision);
}

}  // namespace motet::train_vlm
