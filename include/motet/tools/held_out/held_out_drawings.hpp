// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/sheet.hpp>
#include <motet/nn/layers/pictured_text.hpp>
#include <motet/tools/held_out/held_out.hpp>

namespace motet {

// Samples whose last picture is drawn from all that is before and behind it: what the model draws, beside
// what it should have been.
class held_out_drawings final : public held_out {
 public:
  explicit held_out_drawings(data_folder& from)
      : from_(from),
        source_(held_out_files(from), from.skips()),
        reader_(source_, from.words(), from.config().example, from.sample_config().sample),
        text_(from.sample_config().sample.rows_of_picture, from.sample_config().sample.lead) {
    for (isize i = 0; i < source_.size(); ++i)
      if (source_.pictures(i) > 0) samples_.push_back(i);
    if (samples_.empty())
      fail(no_held_out, sentence({"none of the ", source_.size(), " samples in ", from.folder().string(),
                                  " that are held out has a picture to draw"}));
  }

  isize size() const override { return static_cast<isize>(samples_.size()); }
  test_result test(tested_model& model) override {
    test_result out;
    told_.clear(), seen_.clear(), wanted_.clear();
    text_.clear();
    const isize most = std::min(most_drawn, size());
    for (isize k = 0; k < most; ++k) take(samples_[as_size(k * size() / most)]);
    const auto count = static_cast<isize>(told_.size());
    if (count == 0) fail(no_held_out, "every held-out sample is damaged, or longer than the model takes");
    drawn_ = model.paint(text_.with({seen_.data(), static_cast<isize>(seen_.size()) / pixels()}));
    if (drawn_.size() != wanted_.size()) return out;
    out.drawings = compare_colours(drawn_, wanted_, count);
    for (std::size_t p = 0; p < told_.size(); ++p) told_[p].nearer = out.drawings.nearer[p];
    return out;
  }

  // All pictures that a sample shows, the one that it asks for, and the one that was drawn.
  bitmap shot(isize at) const {
    const told_sample& own = told_[as_size(at)];
    bitmap out;
    for (isize p = own.first; p < own.last; ++p) out = beside(out, one(seen_, p));
    return beside(beside(out, one(wanted_, at)), one(drawn_, at));
  }
  std::vector<report_picture> pictures_told(double) const override {
    const auto all = static_cast<isize>(told_.size());
    return some_of(all, [&](isize at) {
      const isize nearer = told_[as_size(at)].nearer;
      return report_picture{data_uri(shot(at)),
                            told_[as_size(at)].caption,
                            {{sentence({"nearer than to ", nearer, " of ", all - 1}), report_guess::alone,
                              10 * nearer >= 9 * (all - 1)}}};
    });
  }
  std::string note() const override {
    return sentence({std::min(most_shown, static_cast<isize>(told_.size())), " of ", told_.size(),
                     " samples that training never saw: what is seen, if anything, then the picture that "
                     "is asked for, and last what the model draws from what is seen and the words in grey. "
                     "Green where its mean colour is nearer to its own picture than to nine in ten of the "
                     "others."});
  }
  std::string title() const override { return "Held-out pictures, and what is drawn for them"; }

 private:
  struct told_sample {
    isize first = 0, last = 0;  // of the pictures that are seen
    std::string caption{};
    isize nearer = 0;
  };
  isize side() const { return from_.config().example.image; }
  isize pixels() const { return 3 * side() * side(); }
  bitmap one(const std::vector<float>& of, isize which) const {
    return shown(of.data() + which * pixels(), side(), from_.config().example.colours);
  }

  void take(isize sample) {
    const read_sample* const read = reader_.get(sample);
    std::vector<std::string> texts;
    if (read == nullptr || !source_.read_texts(sample, texts)) return;
    const auto shots = static_cast<isize>(read->shots.size());
    told_sample made;
    made.first = static_cast<isize>(seen_.size()) / pixels(), made.last = made.first + shots - 1;
    made.caption = texts.empty() ? std::string() : texts.back();
    for (isize p = 0; p < shots; ++p) {
      std::vector<float>& to = p + 1 < shots ? seen_ : wanted_;
      to.resize(to.size() + as_size(pixels()));
      reader_.pixels(*read, p, nullptr, random_stream(0, 0), to.data() + to.size() - pixels());
    }
    isize before = 0;
    std::span<const tokenizer::token> rest(read->tokens);
    for (const auto& each : read->order) {
      if (each.kind == piece_kind::picture && ++before < shots) text_.show();
      text_.say(rest.first(as_size(each.tokens)), pictured_text::said::given);
      rest = rest.subspan(as_size(each.tokens));
    }
    text_.end();
    told_.push_back(std::move(made));
  }

  static constexpr isize most_drawn = 64;

  data_folder& from_;
  sample_source source_;
  sample_reader reader_;
  pictured_text text_;
  std::vector<isize> samples_;                // those with a picture
  std::vector<told_sample> told_;             // of the last test
  std::vector<float> seen_, wanted_, drawn_;  // (pictures, 3, side, side)
};

}  // namespace motet
