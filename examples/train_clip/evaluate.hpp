// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "feed.hpp"

#include <motet/format/checksum.hpp>
#include <motet/tools/caption_test.hpp>
#include <motet/tools/retrieval.hpp>
#include <motet/tools/zero_shot.hpp>

#include <numeric>

namespace motet::train_clip {

// How well the model recognises what it never saw: by classes, where there are any, and by captions; or what
// it says about it.
struct test_result {
  zero_shot_result classes;
  retrieval_result pairs;
  caption_result captions;  // of a model that speaks, in the place of the others
};

// The held-out pictures with their captions, and their classes where there are any.
class held_out {
 public:
  held_out(data_folder& from, const model_facts& facts)
      : from_(from), source_(shards(from), from.skips()), width_(facts.picture.embedding) {
    if (from.has_classes()) classes_ = read_classes((from.folder() / "classes.json").string());
    for (index i = 0; i < source_.size(); ++i) {
      const index which = classes_.class_of(source_.key(i));
      if (which < 0 && from.has_classes()) continue;
      samples_.push_back(i);
      truth_.push_back(which);
    }
    if (samples_.empty())
      fail(no_held_out, (from.folder() / "classes.json").string() + " names none of the " +
                            std::to_string(source_.size()) + " held-out pictures");
  }
  // Held-out shards are called test*.tar.
  static bool exists(const data_folder& from) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(from.folder(), ignored))
      if (is_test(entry.path())) return true;
    return false;
  }

  const class_list& classes() const { return classes_; }
  index size() const { return static_cast<index>(samples_.size()); }
  const float* picture_features(index at) const { return picture_features_.data() + at * width_; }
  index width() const { return width_; }

  // What a picture may be called: a caption for each class, or without classes the held-out captions.
  index answers() const { return classes_.size() > 0 ? classes_.size() : retrieved(); }
  const float* answer_features(index which) const {
    return (classes_.size() > 0 ? class_features_ : caption_features_).data() + which * width_;
  }
  std::string answer(index which) const {
    return classes_.size() > 0 ? classes_.captions[static_cast<std::size_t>(which)] : caption(which);
  }
  bool is_right(index at, index which) const {
    if (classes_.size() > 0) return truth_[static_cast<std::size_t>(at)] == which;
    return at < retrieved() &&
           group_[static_cast<std::size_t>(at)] == group_[static_cast<std::size_t>(which)];
  }

  // What was said about a picture; only the first ones are spoken of.
  index told() const { return static_cast<index>(said_.size()); }
  const std::string& said(index at) const { return said_[static_cast<std::size_t>(at)]; }
  bool is_told_right(index at) const { return names_all(said(at), subject(at)); }

  test_result test(session& model) {
    if (model.facts().speaks) return listen(model);
    embed_classes(model);
    embed_samples(model);
    const index found = retrieved();
    test_result out;
    const auto rows = [&](const std::vector<float>& of, index count) {
      return matrix<const float>{of.data(), count, width_, width_};
    };
    if (classes_.size() > 0)
      out.classes =
          zero_shot<float>(rows(picture_features_, size()), rows(class_features_, classes_.size()), truth_);
    out.pairs = retrieval<float>(rows(picture_features_, found), rows(caption_features_, found), group_);
    return out;
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
  // What a sentence about a picture must name: its class, or where there are none all of its caption.
  std::string subject(index at) const {
    return classes_.size() > 0
               ? classes_.names[static_cast<std::size_t>(truth_[static_cast<std::size_t>(at)])]
               : caption(at);
  }
  test_result listen(session& model) {
    const index image = from_.config().example.image, pixels = 3 * image * image;
    example_reader reader(source_, from_.words(), from_.config().example, nullptr);
    std::vector<float> shots(static_cast<std::size_t>(at_once * pixels));
    std::vector<tokenizer::token> ids;
    const tokenizer& words = from_.words();
    said_.clear();
    index filled = 0;
    const auto flush = [&] {
      for (const auto& each :
           model.say(pictures{shots.data(), filled}, words.begin_token(), words.end_token()))
        said_.push_back(words.decode(each));
      filled = 0;
      ids.clear();
    };
    for (std::size_t at = 0; at < samples_.size() && told() + filled < most_told;) {
      if (!reader.read(samples_[at], shots.data() + filled * pixels, ids)) {
        samples_.erase(samples_.begin() + static_cast<std::ptrdiff_t>(at));
        truth_.erase(truth_.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      ++at;
      if (++filled == at_once) flush();
    }
    if (filled > 0) flush();
    if (said_.empty()) fail(no_held_out, "every held-out picture is damaged");
    test_result out;
    for (index at = 0; at < told(); ++at) out.captions.add(said(at), subject(at), caption(at));
    return out;
  }
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
  // Pictures and captions that are looked for among each other: all pairs of them are compared.
  index retrieved() const { return std::min(size(), most_retrieved); }

  void embed_classes(session& model) {
    const index most = at_once;
    class_features_.resize(static_cast<std::size_t>(classes_.size() * width_));
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
                  class_features_.data() + first * width_);
    }
  }
  // Damaged held-out pictures drop out of the test, and are counted with the other skips.
  void embed_samples(session& model) {
    const index most = at_once, image = from_.config().example.image, pixels = 3 * image * image;
    example_reader reader(source_, from_.words(), from_.config().example, nullptr);
    std::vector<float> shots(static_cast<std::size_t>(most * pixels));
    std::vector<tokenizer::token> ids;
    std::vector<index> samples, truth, offsets{0};
    picture_features_.resize(samples_.size() * static_cast<std::size_t>(width_));
    caption_features_.resize(static_cast<std::size_t>(std::min(size(), most_retrieved) * width_));
    index filled = 0, done = 0;
    const auto flush = [&] {
      if (filled > 0) {
        model.embed(pictures{shots.data(), filled}, picture_features_.data() + done * width_);
        if (const index captions = std::min(filled, most_retrieved - done); captions > 0)
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
      offsets.push_back(static_cast<index>(ids.size()));
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
  // The same picture under several captions, or the same words for several pictures, are right answers to
  // each other, and so is whatever hangs together by these.
  void find_groups() {
    group_.resize(static_cast<std::size_t>(retrieved()));
    std::iota(group_.begin(), group_.end(), index{0});
    const auto first_of = [&](index at) {
      while (group_[static_cast<std::size_t>(at)] != at) at = group_[static_cast<std::size_t>(at)];
      return at;
    };
    std::unordered_map<std::uint64_t, index> pictures_seen, captions_seen;
    std::vector<std::uint8_t> bytes;
    for (index at = 0; at < retrieved(); ++at) {
      const auto join = [&](std::unordered_map<std::uint64_t, index>& seen) {
        const auto [other, anew] = seen.try_emplace(checksum(std::as_bytes(std::span(bytes))), at);
        const index a = first_of(other->second), b = first_of(at);
        group_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
      };
      source_.read_picture(samples_[static_cast<std::size_t>(at)], bytes);
      join(pictures_seen);
      source_.read_caption(samples_[static_cast<std::size_t>(at)], bytes);
      join(captions_seen);
    }
    for (index at = 0; at < retrieved(); ++at) group_[static_cast<std::size_t>(at)] = first_of(at);
  }

  static constexpr index at_once = 256;          // samples
  static constexpr index most_told = 512;        // sentences take a pass for each word
  static constexpr index most_retrieved = 5000;  // as published results have it

  data_folder& from_;
  class_list classes_;
  pair_source source_;
  index width_;
  std::vector<index> samples_, truth_, group_;
  std::vector<float> picture_features_, class_features_, caption_features_;
  std::vector<std::string> said_;
};

}  // namespace motet::train_clip
