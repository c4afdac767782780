// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/sheet.hpp>
#include <motet/data/sound/sound_reader.hpp>
#include <motet/nn/layers/pictured_text.hpp>
#include <motet/tools/held_out/held_out.hpp>

#include <algorithm>

namespace motet {

// Samples that end with a text that is asked for: what the model says there, after all that stands before it.
class held_out_samples final : public held_out {
 public:
  explicit held_out_samples(data_folder& from)
      : from_(from),
        source_(held_out_files(from), from.skips()),
        reader_(source_, from.words(), from.config().example, from.sample_config().sample),
        text_(text_of(from.sample_config().sample)),
        grids_(from.sample_config().sample.shapes.numbers_of_patch(), from.sample_config().sample.lead) {
    read_classes_of(from);
    isize named = 0;
    for (isize i = 0; i < source_.size(); ++i) {
      const auto pieces = source_.pieces(i);
      if (pieces.size() < 2 || pieces.back().kind != piece_kind::asked) continue;
      const isize files = source_.pictures(i) + source_.sounds(i), which = classes_.class_of(source_.key(i));
      named += which >= 0 ? 1 : 0;
      if (files == 1 && which < 0 && from.has_classes()) continue;
      (files > 1 ? several_ : files == 0 ? texts_ : source_.sounds(i) == 1 ? sounds_ : single_).push_back(i);
    }
    if (from.has_classes() && named == 0) fail_unnamed(from, source_.size());
    if (single_.empty() && sounds_.empty() && texts_.empty() && several_.empty())
      fail(no_held_out, sentence({"none of the ", source_.size(), " samples in ", from.folder().string(),
                                  " that are held out ends with a text that is asked for"}));
  }

  isize size() const override { return static_cast<isize>(single_.size() + sounds_.size()); }
  // These were said; only the first ones of each kind are spoken of, those with one picture first,
  // then those with one sound.
  isize told() const { return static_cast<isize>(told_.size()); }
  const std::string& said(isize at) const { return told_[as_size(at)].said; }
  bool is_told_right(isize at) const { return told_[as_size(at)].right; }

  test_result test(tested_model& model) override {
    test_result out;
    told_.clear();
    listen(model, single_, most_told, out.captions);
    listen(model, sounds_, most_told, out.sounds);
    listen(model, several_, most_others, out.several);
    listen(model, texts_, most_others, out.texts);
    if (told_.empty()) fail(no_held_out, "every held-out sample is damaged, or longer than the model takes");
    return out;
  }

  // All pictures and sounds of a sample, beside each other.
  bitmap shot(isize at) const {
    bitmap out;
    std::vector<std::uint8_t> bytes;
    for (const sample_piece& each : source_.pieces(told_[as_size(at)].sample)) {
      if (is_text(each.kind)) continue;
      source_.read_bytes(each, bytes);
      out = beside(out, each.kind == piece_kind::sound ? heard(bytes) : seen(bytes));
    }
    if (out.pixels.empty()) out = {1, 1, {255, 255, 255}};
    return out;
  }
  std::string caption(isize at) const { return told_[as_size(at)].caption; }

  std::vector<report_picture> pictures_told(double) const override {
    return some_of(told(), [&](isize at) {
      return report_picture{
          data_uri(shot(at)), caption(at), {{said(at), report_guess::alone, is_told_right(at)}}};
    });
  }
  std::string note() const override {
    return sentence(
        {std::min(most_shown, told()), " of ", told(),
         " samples that training never saw, each with what the model says about it. Green "
         "where that names what there is, or where there are several pictures or sounds, or none, is right "
         "to the word. Below, in grey, its own caption."});
  }

 private:
  struct told_sample {
    isize sample = 0;
    std::string said, caption;
    bool right = false;
  };

  static bitmap seen(const std::vector<std::uint8_t>& bytes) {
    bitmap out;
    decode_picture(bytes, out);
    return out;
  }
  // As the model hears it: frames from left to right, low tones below, the louder the darker.
  bitmap heard(const std::vector<std::uint8_t>& bytes) const {
    const heard_form& form = from_.sample_config().sample.heard;
    std::vector<float> features(as_size(form.numbers()));
    sound_reader(form.bins, form.frames).hear(bytes, features.data());
    const auto [quiet, loud] = std::minmax_element(features.begin(), features.end());
    const float range = std::max(*loud - *quiet, 1e-6f);
    bitmap out{form.frames, form.bins, std::vector<std::uint8_t>(as_size(3 * form.numbers()))};
    for (isize frame = 0; frame < form.frames; ++frame)
      for (isize bin = 0; bin < form.bins; ++bin) {
        const float share = (features[as_size(frame * form.bins + bin)] - *quiet) / range;
        std::fill_n(out.pixels.begin() + 3 * ((form.bins - 1 - bin) * form.frames + frame), 3,
                    static_cast<std::uint8_t>(255 * (1 - share)));
      }
    return out;
  }

  void listen(tested_model& model, const std::vector<isize>& of, isize most, caption_result& result) {
    const tokenizer& words = from_.words();
    const auto& ends = from_.sample_config().sample.marks.after_asked;
    for (const isize sample : of) {
      if (result.pictures == most) return;
      const read_sample* const read = reader_.get(sample);
      if (read == nullptr) continue;
      const pictures seen = look(*read);
      text_.clear();
      std::span<const tokenizer::token> rest(read->tokens);
      for (const auto& each : std::span(read->order).first(read->order.size() - 1)) {
        sample_maker::say({is_text(each.kind) ? piece_kind::given : each.kind, each.tokens, each.shown},
                          rest.first(as_size(each.tokens)), text_, from_.sample_config().sample.lead);
        rest = rest.subspan(as_size(each.tokens));
      }
      text_.end();
      std::vector<std::string> texts;
      if (text_.rows() == 0 || !source_.read_texts(sample, texts)) continue;
      told_sample made{sample, {}, texts.back(), false};
      auto ids = model.say(text_.with(seen, {read->heard.data(), source_.sounds(sample)}),
                           ends.empty() ? -1 : ends.front(),
                           std::min(from_.config().example.context - text_.rows(), most_words));
      // A model may hold more words than the vocabulary, and say them while it knows little.
      std::erase_if(ids, [&](std::int32_t id) { return id >= words.size(); });
      made.said = words.decode(ids);
      // A picture is to be called what it is; where there is more to tell apart, the words decide.
      const isize which = classes_.class_of(source_.key(sample));
      const std::string& subject = which >= 0 ? classes_.names[as_size(which)] : made.caption;
      const isize right = result.right, exact = result.exact;
      result.add(made.said, subject, made.caption);
      made.right = &of == &single_ || &of == &sounds_ ? result.right > right : result.exact > exact;
      told_.push_back(std::move(made));
    }
  }
  // All pictures of a sample, without augmentation; valid until the next call.
  pictures look(const read_sample& read) {
    const auto count = static_cast<isize>(read.shots.size());
    const shape_limits& shapes = from_.sample_config().sample.shapes;
    grids_.clear();
    for (const picture_grid& each : read.grids) grids_.add(each.rows, each.columns);
    const isize square = 3 * from_.config().example.image * from_.config().example.image;
    isize at = 0;
    for (isize p = 0; p < count; ++p) {
      const random_stream none(0, 0);
      const isize numbers =
          shapes.any() ? read.grids[as_size(p)].patches() * shapes.numbers_of_patch() : square;
      shots_.resize(as_size(at + numbers));
      packed_picture ignored;
      if (shapes.any())
        reader_.pack(read, p, nullptr, none, reinterpret_cast<std::uint8_t*>(shots_.data() + at), ignored);
      else reader_.pixels(read, p, nullptr, none, shots_.data() + at);
      at += numbers;
    }
    return shapes.any() ? grids_.with(shots_.data()) : pictures{shots_.data(), count};
  }
  static constexpr isize most_told = 512, most_others = 128, most_words = 64;

  data_folder& from_;
  sample_source source_;
  sample_reader reader_;
  pictured_text text_;
  picture_grids grids_;  // of pictures of any shape
  std::vector<float> shots_;
  std::vector<isize> single_, sounds_;  // those with one picture, and with one sound
  std::vector<isize> several_, texts_;  // those with more of these, and without
  std::vector<told_sample> told_;
};

}  // namespace motet
