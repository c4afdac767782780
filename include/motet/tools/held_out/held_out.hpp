// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/checksum.hpp>
#include <motet/tools/feed.hpp>
#include <motet/tools/held_out/test_result.hpp>
#include <motet/tools/messages.hpp>
#include <motet/tools/report/data_uri.hpp>
#include <motet/tools/report/report.hpp>

#include <cmath>
#include <numeric>
#include <unordered_map>

namespace motet {

// A model as tests see it.
class tested_model {
 public:
  tested_model() = default;
  tested_model(const tested_model&) = delete;
  tested_model& operator=(const tested_model&) = delete;
  virtual ~tested_model() = default;

  // Features of any number of samples, rows of length one.
  virtual void embed(const pictures& batch, float* features) = 0;
  virtual void embed(const tokens& batch, float* features) = 0;
  // A model that speaks says what comes after one sample, until `end`.
  virtual std::vector<std::int32_t> say(const pictured_tokens& sample, std::int32_t end, isize most) = 0;
  // A model that draws paints what it makes of each sample, as its own pictures are, (samples, 3, side,
  // side).
  virtual std::vector<float> paint(const pictured_tokens&) { return {}; }
  // Whether it has features of pairs and says captions as well; what it says is then tested beside them.
  virtual bool says_captions() const { return false; }
  // The loss of samples that it is not trained on, and what that multiplies similarities by (NaN: it compares
  // none).
  virtual double loss_of(const step_input& batch) = 0;
  virtual double logit_scale() const = 0;
};

// Held-out samples are those that training never sees, with classes where there are any.
class held_out {
 public:
  held_out() = default;
  held_out(const held_out&) = delete;
  held_out& operator=(const held_out&) = delete;
  virtual ~held_out() = default;

  const class_list& classes() const { return classes_; }
  virtual isize size() const = 0;
  virtual test_result test(tested_model& model) = 0;
  // Some of the samples with what the last test found about them, and a sentence about all of those.
  virtual std::vector<report_picture> pictures_told(double logit_scale) const = 0;
  virtual std::string note() const = 0;
  virtual std::string title() const { return "Held-out pictures and their best captions"; }

 protected:
  static constexpr isize most_shown = 60;
  // Shows as many of all as there is room for, evenly.
  template <class Make>
  static std::vector<report_picture> some_of(isize all, Make&& make) {
    std::vector<report_picture> out;
    const isize shown = std::min(most_shown, all);
    for (isize i = 0; i < shown; ++i) out.push_back(make(all * i / shown));
    return out;
  }
  void read_classes_of(const data_folder& from) {
    if (from.has_classes()) classes_ = read_classes((from.folder() / "classes.json").string());
  }
  [[noreturn]] static void fail_unnamed(const data_folder& from, isize samples) {
    fail(no_held_out, (from.folder() / "classes.json").string() + " names none of the " +
                          std::to_string(samples) + " held-out pictures");
  }
  class_list classes_;
};

// Held-out files are called test*, and are of the kind of those to train on.
inline std::vector<std::string> held_out_files(const data_folder& from) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(from.folder(), ignored)) {
    const std::string ending = entry.path().extension().string();
    if (!entry.path().filename().string().starts_with("test")) continue;
    if (ending == ".tar" || (from.has_pieces() && (ending == ".json" || ending == ".jsonl")))
      out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Pictures with their captions.
class held_out_pairs final : public held_out {
 public:
  // width: of features.
  held_out_pairs(data_folder& from, isize width)
      : from_(from), source_(held_out_files(from), from.skips()), width_(width) {
    read_classes_of(from);
    for (isize i = 0; i < source_.size(); ++i) {
      const isize which = classes_.class_of(source_.key(i));
      if (which < 0 && from.has_classes()) continue;
      samples_.push_back(i);
      truth_.push_back(which);
    }
    if (samples_.empty()) fail_unnamed(from, source_.size());
  }

  isize size() const override { return static_cast<isize>(samples_.size()); }
  const float* picture_features(isize at) const { return picture_features_.data() + at * width_; }
  isize width() const { return width_; }

  // A picture may be called by these: a caption for each class, or without classes the held-out captions.
  isize answers() const { return classes_.size() > 0 ? classes_.size() : retrieved(); }
  const float* answer_features(isize which) const {
    return (classes_.size() > 0 ? class_features_ : caption_features_).data() + which * width_;
  }
  std::string answer(isize which) const {
    return classes_.size() > 0 ? classes_.captions[static_cast<std::size_t>(which)] : caption(which);
  }
  bool is_right(isize at, isize which) const {
    if (classes_.size() > 0) return truth_[static_cast<std::size_t>(at)] == which;
    return at < retrieved() &&
           group_[static_cast<std::size_t>(at)] == group_[static_cast<std::size_t>(which)];
  }

  test_result test(tested_model& model) override {
    embed_classes(model);
    embed_samples(model);
    const isize found = retrieved();
    test_result out;
    if (model.says_captions()) listen(model, out.captions);
    const auto rows = [&](const std::vector<float>& of, isize count) {
      return matrix<const float>{of.data(), count, width_, width_};
    };
    if (classes_.size() > 0)
      out.classes =
          zero_shot<float>(rows(picture_features_, size()), rows(class_features_, classes_.size()), truth_);
    out.pairs = retrieval<float>(rows(picture_features_, found), rows(caption_features_, found), group_);
    return out;
  }

  // The picture of a sample as it was stored, and its own caption.
  bitmap shot(isize at) const {
    std::vector<std::uint8_t> bytes;
    bitmap out;
    source_.read_picture(samples_[static_cast<std::size_t>(at)], bytes);
    decode_picture(bytes, out);
    return out;
  }
  std::string caption(isize at) const {
    std::vector<std::uint8_t> bytes;
    source_.read_caption(samples_[static_cast<std::size_t>(at)], bytes);
    return {bytes.begin(), bytes.end()};
  }

  std::vector<report_picture> pictures_told(double logit_scale) const override {
    return some_of(size(), [&](isize at) {
      return report_picture{data_uri(shot(at)), caption(at), best_captions(at, logit_scale, 3)};
    });
  }
  std::string note() const override {
    return sentence({std::min(most_shown, size()), " of ", size(),
                     " pictures that training never saw, each with the three nearest of ", answers(),
                     classes_.size() > 0
                         ? " captions, one for each class. Green is the picture's class. Below, in grey, "
                           "what the picture was drawn from."
                         : " held-out captions. Green is its own. Below, in grey, its own caption."});
  }
  // The likeliest captions of a picture, with their probabilities as the loss sees them.
  std::vector<report_guess> best_captions(isize at, double logit_scale, std::size_t count) const {
    const float* const own = picture_features(at);
    std::vector<std::pair<double, isize>> all;
    double most = -1e30, sum = 0;
    for (isize c = 0; c < answers(); ++c) {
      const float* const other = answer_features(c);
      double product = 0;
      for (isize k = 0; k < width(); ++k)
        product += static_cast<double>(own[k]) * static_cast<double>(other[k]);
      all.emplace_back(logit_scale * product, c);
      most = std::max(most, logit_scale * product);
    }
    for (auto& [score, which] : all) sum += std::exp(score - most);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<report_guess> out;
    for (std::size_t i = 0; i < std::min(count, all.size()); ++i)
      out.push_back(
          {answer(all[i].second), std::exp(all[i].first - most) / sum, is_right(at, all[i].second)});
    return out;
  }

 private:
  // Pictures and captions that are looked for among each other: all pairs of them are compared.
  isize retrieved() const { return std::min(size(), most_retrieved); }

  void embed_classes(tested_model& model) {
    const isize most = at_once;
    class_features_.resize(static_cast<std::size_t>(classes_.size() * width_));
    tokenizer::scratch work;
    for (isize first = 0; first < classes_.size(); first += most) {
      const isize last = std::min(classes_.size(), first + most);
      std::vector<tokenizer::token> ids;
      std::vector<isize> offsets{0};
      for (isize c = first; c < last; ++c) {
        from_.words().encode(classes_.captions[static_cast<std::size_t>(c)], from_.config().example.context,
                             ids, work);
        offsets.push_back(static_cast<isize>(ids.size()));
      }
      model.embed(tokens{ids.data(), {last - first, 0, offsets.data()}},
                  class_features_.data() + first * width_);
    }
  }
  // Damaged held-out pictures drop out of the test, and are counted with the other skips.
  void embed_samples(tested_model& model) {
    const isize most = at_once, image = from_.config().example.image, pixels = 3 * image * image;
    example_reader reader(source_, from_.words(), from_.config().example, nullptr);
    std::vector<float> shots(static_cast<std::size_t>(most * pixels));
    std::vector<tokenizer::token> ids;
    std::vector<isize> samples, truth, offsets{0};
    picture_features_.resize(samples_.size() * static_cast<std::size_t>(width_));
    caption_features_.resize(static_cast<std::size_t>(std::min(size(), most_retrieved) * width_));
    isize filled = 0, done = 0;
    const auto flush = [&] {
      if (filled > 0) {
        model.embed(pictures{shots.data(), filled}, picture_features_.data() + done * width_);
        if (const isize captions = std::min(filled, most_retrieved - done); captions > 0)
          model.embed(tokens{ids.data(), {captions, 0, offsets.data()}},
                      caption_features_.data() + done * width_);
      }
      done += filled;
      filled = 0;
      ids.clear();
      offsets.assign(1, 0);
    };
    for (std::size_t at = 0; at < samples_.size(); ++at) {
      if (!reader.read(samples_[at], shots.data() + filled * pixels, ids)) continue;
      offsets.push_back(static_cast<isize>(ids.size()));
      samples.push_back(samples_[at]);
      truth.push_back(truth_[at]);
      if (++filled == most) flush();
    }
    flush();
    const bool fewer = samples.size() < samples_.size();
    samples_ = std::move(samples);
    truth_ = std::move(truth);
    if (samples_.empty()) fail(no_held_out, "every held-out picture is damaged");
    if (fewer || group_.empty()) find_groups();
  }
  // What it says of the first pictures, each with the token that captions begin with.
  void listen(tested_model& model, caption_result& result) {
    const isize image = from_.config().example.image;
    example_reader reader(source_, from_.words(), from_.config().example, nullptr);
    std::vector<float> shot(static_cast<std::size_t>(3 * image * image));
    std::vector<tokenizer::token> ids;
    static constexpr isize one[] = {0, 1};
    for (isize at = 0; at < std::min(size(), most_heard); ++at) {
      ids.clear();
      if (!reader.read(samples_[static_cast<std::size_t>(at)], shot.data(), ids) || ids.empty()) continue;
      const pictured_tokens begun{{{ids.data(), {1, 1, nullptr}}}, {shot.data(), 1}, one};
      auto said = model.say(begun, ids.back(), from_.config().example.context - 1);
      // A model may hold more words than the vocabulary.
      std::erase_if(said, [&](std::int32_t id) { return id >= from_.words().size(); });
      const isize which = truth_[static_cast<std::size_t>(at)];
      const std::string own = caption(at);
      result.add(from_.words().decode(said),
                 which >= 0 ? classes_.names[static_cast<std::size_t>(which)] : own, own);
    }
  }
  // The same picture under several captions, or the same words for several pictures, are right answers to
  // each other, and so is whatever hangs together by these.
  void find_groups() {
    group_.resize(static_cast<std::size_t>(retrieved()));
    std::iota(group_.begin(), group_.end(), isize{0});
    const auto first_of = [&](isize at) {
      while (group_[static_cast<std::size_t>(at)] != at) at = group_[static_cast<std::size_t>(at)];
      return at;
    };
    std::unordered_map<std::uint64_t, isize> pictures_seen, captions_seen;
    std::vector<std::uint8_t> bytes;
    for (isize at = 0; at < retrieved(); ++at) {
      const auto join = [&](std::unordered_map<std::uint64_t, isize>& seen) {
        const auto [other, anew] = seen.try_emplace(checksum(std::as_bytes(std::span(bytes))), at);
        const isize a = first_of(other->second), b = first_of(at);
        group_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
      };
      source_.read_picture(samples_[static_cast<std::size_t>(at)], bytes);
      join(pictures_seen);
      source_.read_caption(samples_[static_cast<std::size_t>(at)], bytes);
      join(captions_seen);
    }
    for (isize at = 0; at < retrieved(); ++at) group_[static_cast<std::size_t>(at)] = first_of(at);
  }

  static constexpr isize at_once = 256;          // samples
  static constexpr isize most_retrieved = 5000;  // as published results have it
  static constexpr isize most_heard = 128;       // each is said word by word

  data_folder& from_;
  pair_source source_;
  isize width_;
  std::vector<isize> samples_, truth_, group_;
  std::vector<float> picture_features_, class_features_, caption_features_;
};

}  // namespace motet
