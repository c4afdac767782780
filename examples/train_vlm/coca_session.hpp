// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coca_model.hpp"

#include <motet/nn/layers/caption_places.hpp>
#include <motet/run/tower_words.hpp>
#include <motet/run/trained_session.hpp>
#include <motet/tools/held_out/contrast.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace motet::train_vlm {

// Pairs of a picture and its caption, which are compared, and which the model learns to say.
template <class Device, vit_config Eye, decoder_config Lower, isize UpperLayers, isize Embedding,
          class Numbers>
class coca_session final
    : public trained_session<coca_session<Device, Eye, Lower, UpperLayers, Embedding, Numbers>, Device,
                             coca_model<Eye, Lower, UpperLayers, Embedding>, Numbers> {
 public:
  using own_model = coca_model<Eye, Lower, UpperLayers, Embedding>;

  coca_session(const char* name, const session_request& wanted)
      : coca_session::trained_session(facts(name), wanted) {}

  // The result is valid until the next call.
  typename own_model::batch inputs(const step_input& batch) {
    const auto& [shown, captions] = std::get<pair_input>(batch);
    return {seen_pictures{shown, shown.samples}, captions, places_.of(captions)};
  }
  void gather() override {
    coca_session::trained_session::gather();
    weights_ = this->tests_averages() ? this->trained().averages() : this->trained().weights();
  }
  void embed(const pictures& batch, float* features) override {
    pooled<"eye", "seen">(seen_pictures{batch, batch.samples},
                          {batch.samples, vit_rows<Eye>::rows_of_picture, nullptr}, features);
  }
  void embed(const tokens& batch, float* features) override {
    pooled<"words", "said">(batch, batch.seq, features);
  }
  bool says_captions() const override { return true; }
  // The likeliest word each time. All words pass again, as captions are short.
  std::vector<std::int32_t> say(const pictured_tokens& sample, std::int32_t end, isize most) override {
    constexpr isize shown = vit_rows<Eye>::rows_of_picture;
    const auto begun = static_cast<std::size_t>(sample.seq.rows());
    std::vector<std::int32_t> all(sample.ids, sample.ids + begun);
    std::vector<float> logits(as_size(Lower.vocabulary));
    eye_rows_.resize(as_size(shown * Eye.width));
    rows_.resize(as_size((shown + Lower.context) * Lower.width));
    run([&](cpu::context& ctx) { enter(ctx, sample.seen, {nullptr, {0, 1, nullptr}}); });
    const isize longest = std::min<isize>(Lower.context, sample.seq.rows() + most);
    while (static_cast<isize>(all.size()) < longest) {
      const tokens text{all.data(), {1, static_cast<isize>(all.size()), nullptr}};
      placed_tokens asked = places_.of(text);
      asked.entering.rows = rows_.data();
      run([&](cpu::context& ctx) {
        enter_words(ctx, shown, text);
        net<"caption">::last_logits::infer(ctx, of<"caption">(), asked, {logits.data(), 1});
      });
      const auto next = std::max_element(logits.begin(), logits.end()) - logits.begin();
      if (next == end) break;
      all.push_back(static_cast<std::int32_t>(next));
    }
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(begun));
    return all;
  }
  double logit_scale() const override {
    for (const parameter& each : this->parameters())
      if (each.name == name_in_model(info_nce::scale_name) && !weights_.empty())
        return std::exp(static_cast<double>(weights_[as_size(each.offset)]));
    return std::numeric_limits<double>::quiet_NaN();
  }
  double loss_of(const step_input& batch) override {
    const auto& [shown, captions] = std::get<pair_input>(batch);
    std::vector<float> seen(as_size(shown.samples * Embedding)), said(seen.size());
    embed(shown, seen.data());
    embed(captions, said.data());
    const auto rows = [&](const std::vector<float>& of) {
      return matrix<const float>{of.data(), shown.samples, Embedding, Embedding};
    };
    return own_model::joins[0].weight * info_nce_of(rows(seen), rows(said), logit_scale()) +
           own_model::joins[1].weight * caption_loss(shown, captions);
  }

 private:
  using stream = typename Numbers::stream;
  template <fixed_string Name>
  using net = typename own_model::template module_at<own_model::template position<Name>()>::net;
  template <fixed_string Name>
  motet::weights<Numbers> of() const {
    return {weights_.data() + own_model::offsets[own_model::template position<Name>()]};
  }
  template <class Run>
  void run(Run&& body) {
    cpu::device& device = this->trained().device();
    device.prepare(device.dry_run(body));
    device.run(body, {0, 0, 0, false});
  }
  // Rows of a net that gives them, and then what a module of one layer makes of these.
  template <fixed_string Net, fixed_string Head>
  void pooled(const typename net<Net>::input& batch, const sequences& seq, float* features) {
    rows_.resize(as_size(seq.rows() * net<Net>::embedding));
    run([&](cpu::context& ctx) {
      net<Net>::infer(ctx, of<Net>(), batch, {rows_.data(), seq.rows()});
      synchronize(ctx);
      through<Head>(ctx, seq, rows_.data(), features, seq.samples);
    });
  }
  template <fixed_string Name, class Feature>
  void through(cpu::context& ctx, const sequences& seq, const stream* rows, Feature* to, isize count) const {
    typename net<Name>::stage::template ends<Numbers> ends;
    ends.features = {to, count};
    net<Name>::stage::infer(ctx, {0, 1}, of<Name>(), through_rows{seq, {rows}}, ends);
  }
  // Fills rows_ with what enters the upper half: the glue's rows of pictures, then those of words.
  void enter(cpu::context& ctx, const pictures& shown, const tokens& captions) {
    const sequences seq{shown.samples, vit_rows<Eye>::rows_of_picture, nullptr};
    net<"eye">::infer(ctx, of<"eye">(), seen_pictures{shown, shown.samples}, {eye_rows_.data(), seq.rows()});
    synchronize(ctx);
    through<"glue">(ctx, seq, eye_rows_.data(), rows_.data(), seq.rows());
    if (captions.seq.samples > 0) enter_words(ctx, seq.rows(), captions);
  }
  // Rows of words lie behind so many of pictures.
  void enter_words(cpu::context& ctx, isize behind, const tokens& text) {
    net<"words">::infer(ctx, of<"words">(), text, {rows_.data() + behind * Lower.width, text.seq.rows()});
    synchronize(ctx);
  }
  double caption_loss(const pictures& shown, const tokens& captions) {
    const isize samples = shown.samples, seen = samples * vit_rows<Eye>::rows_of_picture;
    placed_tokens asked = places_.of(captions);
    eye_rows_.resize(as_size(seen * Eye.width));
    rows_.resize(as_size((seen + captions.seq.rows()) * Lower.width));
    asked.entering.rows = rows_.data();
    std::vector<float> losses(as_size(samples));
    run([&](cpu::context& ctx) {
      enter(ctx, shown, captions);
      net<"caption">::infer(ctx, of<"caption">(), asked, {losses.data(), samples});
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

  static session_facts facts(const char* name) {
    // The lower half is known as a text tower is.
    constexpr text_config words{.vocabulary = Lower.vocabulary,
                                .context = Lower.context,
                                .width = Lower.width,
                                .layers = Lower.layers,
                                .heads = Lower.heads};
    session_facts out{.name = name, .loss = {}, .precision = {}, .shape = {}};
    out.shape = {.model = name, .image = Eye.image, .vocabulary = Lower.vocabulary, .context = Lower.context};
    out.caption = Lower.context;
    out.embedding = Embedding;
    out.outline = {outline_of(Eye), outline_of(words), {"upper half", std::to_string(UpperLayers)}};
    out.parts = {{"eye", words_of(Eye)},
                 {"lower half of the language model", words_of(words)},
                 {"upper half", std::to_string(UpperLayers) + " layers"},
                 {"embedding", std::to_string(Embedding)}};
    return out;
  }

  caption_places places_{vit_rows<Eye>::rows_of_picture, lead_of(Eye)};
  std::vector<float> weights_;
  std::vector<stream> eye_rows_, rows_;
};

template <class Device, vit_config Eye, decoder_config Lower, isize UpperLayers, isize Embedding>
std::unique_ptr<session> make_coca_session(const char* name, const session_request& wanted) {
  if (wanted.precision == "fp32")
    return std::make_unique<coca_session<Device, Eye, Lower, UpperLayers, Embedding, fp32>>(name, wanted);
  if constexpr (trains_in_bf16<Device>)
    return std::make_unique<coca_session<Device, Eye, Lower, UpperLayers, Embedding, mixed_bf16>>(name,
                                                                                                  wanted);
  else refuse_precision(wanted.precision);
}

}  // namespace motet::train_vlm
