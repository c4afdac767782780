// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/sheet.hpp>
#include <motet/nn/layers/pictured_text.hpp>
#include <motet/tools/held_out.hpp>

namespace motet {

// Samples that end with a text that is asked for: what the model says there, after all that stands before it.
class held_out_samples final : public held_out {
 public:
  explicit held_out_samples(data_folder& from)
      : from_(from),
        source_(held_out_files(from), from.skips()),
        reader_(source_, from.words(), from.config().example, from.sample_config().sample),
        text_(from.sample_config().sample.rows_of_picture, from.sample_config().sample.lead) {
    read_classes_of(from);
    isize named = 0;
    for (isize i = 0; i < source_.size(); ++i) {
      const auto pieces = source_.pieces(i);
      if (pieces.size() < 2 || pieces.back().kind != piece_kind::asked) continue;
      const isize pictures = source_.pictures(i), which = classes_.class_of(source_.key(i));
      named += which >= 0 ? 1 : 0;
      if (pictures == 1 && which < 0 && from.has_classes()) continue;
      (pictures == 1 ? single_ : pictures == 0 ? texts_ : several_).push_back(i);
    }
    if (from.has_classes() && named == 0) fail_unnamed(from, source_.size());
    if (single_.empty() && texts_.empty() && several_.empty())
      fail(no_held_out, sentence({"none of the ", source_.size(), " samples in ", from.folder().string(),
                                  " that are held out ends with a text that is asked for"}));
  }

  isize size() const override { return static_cast<isize>(single_.size()); }
  // These were said; only the first ones of each kind are spoken of, those with one picture first.
  isize told() const { return static_cast<isize>(told_.size()); }
  const std::string& said(isize at) const { return told_[as_size(at)].said; }
  bool is_told_right(isize at) const { return told_[as_size(at)].right; }

  test_result test(tested_model& model) override {
    test_result out;
    told_.clear();
    listen(model, single_, most_told, out.captions);
    listen(model, several_, most_others, out.several);
    listen(model, texts_, most_others, out.texts);
    if (told_.empty()) fail(no_held_out, "every held-out sample is damaged, or longer than the model takes");
    return out;
  }

  // All pictures of a sample, beside each other.
  bitmap shot(isize at) const {
    bitmap out;
    std::vector<std::uint8_t> bytes;
    for (const sample_piece& each : source_.pieces(told_[as_size(at)].sample)) {
      if (each.kind != piece_kind::picture) continue;
      bitmap one;
      source_.read_picture(each, bytes);
      decode_picture(bytes, one);
      out = beside(out, one);
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
    return sentence({std::min(most_shown, told()), " of ", told(),
                     " samples that training never saw, each with what the model says about it. Green "
                     "where that names what there is, or where there are several pictures or none, is right "
                     "to the word. Below, in grey, its own caption."});
  }

 private:
  struct told_sample {
    isize sample = 0;
    std::string said, caption;
    bool right = false;
  };

  void listen(tested_model& model, const std::vector<isize>& of, isize most, caption_result& result) {
    const isize pixels = 3 * from_.config().example.image * from_.config().example.image;
    const tokenizer& words = from_.words();
    const auto& ends = from_.sample_config().sample.marks.after_asked;
    for (const isize sample : of) {
      if (result.pictures == most) return;
      const read_sample* const read = reader_.get(sample);
      if (read == nullptr) continue;
      shots_.resize(as_size(pixels * static_cast<isize>(read->shots.size())));
      for (std::size_t p = 0; p < read->shots.size(); ++p)
        reader_.pixels(*read, static_cast<isize>(p), nullptr, random_stream(0, 0),
                       shots_.data() + static_cast<isize>(p) * pixels);
      text_.clear();
      std::span<const tokenizer::token> rest(read->tokens);
      for (const auto& each : std::span(read->order).first(read->order.size() - 1)) {
        if (each.kind == piece_kind::picture) text_.show();
        text_.say(rest.first(as_size(each.tokens)), pictured_text::said::given);
        rest = rest.subspan(as_size(each.tokens));
      }
      text_.end();
      std::vector<std::string> texts;
      if (text_.rows() == 0 || !source_.read_texts(sample, texts)) continue;
      told_sample made{sample, {}, texts.back(), false};
      auto ids = model.say(text_.with({shots_.data(), static_cast<isize>(read->shots.size())}),
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
      made.right = &of == &single_ ? result.right > right : result.exact > exact;
      told_.push_back(std::move(made));
    }
  }
  static constexpr isize most_told = 512, most_others = 128, most_words = 64;

  data_folder& from_;
  sample_source source_;
  sample_reader reader_;
  pictured_text text_;
  std::vector<float> shots_;
  std::vector<isize> single_, several_, texts_;  // those with one picture, with more, and without
  std::vector<told_sample> told_;
};

}  // namespace motet
