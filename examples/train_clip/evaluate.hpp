// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "feed.hpp"

#include <motet/tools/zero_shot.hpp>

namespace motet::train_clip {

// The held-out pictures with their classes, and how well the model recognises them.
class held_out {
 public:
  held_out(data_folder& from, const model_facts& facts)
      : from_(from),
        classes_(read_classes((from.folder() / "classes.json").string())),
        source_(shards(from), from.skips()),
        width_(facts.picture.embedding) {
    for (index i = 0; i < source_.size(); ++i) {
      const index which = classes_.class_of(source_.key(i));
      if (which < 0) continue;
      samples_.push_back(i);
      truth_.push_back(which);
    }
    if (samples_.empty())
      fail(no_held_out, (from.folder() / "classes.json").string() + " names none of the " +
                            std::to_string(source_.size()) + " held-out pictures");
  }
  // Held-out shards are called test*.tar.
  static bool exists(const data_folder& from) {
    if (!from.has_classes()) return false;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(from.folder(), ignored))
      if (is_test(entry.path())) return true;
    return false;
  }

  const class_list& classes() const { return classes_; }
  index size() const { return static_cast<index>(samples_.size()); }
  index truth(index at) const { return truth_[static_cast<std::size_t>(at)]; }
  const std::vector<float>& picture_features() const { return picture_features_; }
  const std::vector<float>& caption_features() const { return caption_features_; }

  zero_shot_result test(session& model) {
    embed_captions(model);
    embed_pictures(model);
    return zero_shot<float>(
        matrix<const float>{picture_features_.data(), static_cast<index>(truth_.size()), width_, width_},
        matrix<const float>{caption_features_.data(), classes_.size(), width_, width_}, truth_);
  }

  // The picture of a held-out sample as it was stored, and its own caption.
  bitmap shot(index at) const {
    std::vector<std::uint8_t> bytes;
    bitmap out;
    source_.read_picture(samples_[static_cast<std::size_t>(at)], bytes);
    decode_picture(bytes, out);
    return out;
  }
  std::string caption(index at) const {
    std::vector<std::uint8_t> bytes;
    source_.read_caption(samples_[static_cast<std::size_t>(at)], bytes);
    return {bytes.begin(), bytes.end()};
  }

 private:
  static bool is_test(const std::filesystem::path& path) {
    return path.extension() == ".tar" && path.filename().string().starts_with("test");
  }
  static std::vector<std::string> shards(const data_folder& from) {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(from.folder()))
      if (is_test(entry.path())) out.push_back(entry.path().string());
    std::sort(out.begin(), out.end());
    return out;
  }

  void embed_captions(session& model) {
    const index most = at_once;
    caption_features_.resize(static_cast<std::size_t>(classes_.size() * width_));
    tokenizer::scratch work;
    for (index first = 0; first < classes_.size(); first += most) {
      const index last = std::min(classes_.size(), first + most);
      std::vector<tokenizer::token> ids;
      std::vector<index> offsets{0};
      for (index c = first; c < last; ++c) {
        from_.words().encode(classes_.captions[static_cast<std::size_t>(c)], from_.config().example.context,
                             ids, work);
        offsets.push_back(static_cast<index>(ids.size()));
      }
      model.embed(tokens{ids.data(), {last - first, 0, offsets.data()}},
                  caption_features_.data() + first * width_);
    }
  }
  // Damaged held-out pictures drop out of the test, and are counted with the other skips.
  void embed_pictures(session& model) {
    const index most = at_once, image = from_.config().example.image, pixels = 3 * image * image;
    example_reader reader(source_, from_.words(), from_.config().example, nullptr);
    std::vector<float> shots(static_cast<std::size_t>(most * pixels));
    std::vector<tokenizer::token> ignored;
    std::vector<index> samples, truth;
    picture_features_.resize(samples_.size() * static_cast<std::size_t>(width_));
    index filled = 0, done = 0;
    const auto flush = [&] {
      if (filled > 0) model.embed(pictures{shots.data(), filled}, picture_features_.data() + done * width_);
      done += filled;
      filled = 0;
    };
    for (std::size_t at = 0; at < samples_.size(); ++at) {
      ignored.clear();
      if (!reader.read(samples_[at], shots.data() + filled * pixels, ignored)) continue;
      samples.push_back(samples_[at]);
      truth.push_back(truth_[at]);
      if (++filled == most) flush();
    }
    flush();
    samples_ = std::move(samples);
    truth_ = std::move(truth);
    if (samples_.empty()) fail(no_held_out, "every held-out picture is damaged");
  }

  static constexpr index at_once = 256;  // samples

  data_folder& from_;
  class_list classes_;
  pair_source source_;
  index width_;
  std::vector<index> samples_, truth_;
  std::vector<float> picture_features_, caption_features_;
};

}  // namespace motet::train_clip
