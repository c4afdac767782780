// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/augment.hpp>
#include <motet/data/pictures/decode.hpp>
#include <motet/data/pictures/decoded_cache.hpp>
#include <motet/data/pictures/pack.hpp>
#include <motet/data/samples/loader_config.hpp>
#include <motet/data/samples/source.hpp>
#include <motet/data/words/tokenizer.hpp>

namespace motet {

// A sample before augmentation.
struct pair_example {
  bitmap shot;
  std::vector<tokenizer::token> tokens;
  bool may_flip = true;

  isize bytes() const {
    return static_cast<isize>(shot.pixels.size() + tokens.size() * sizeof(tokenizer::token));
  }
};

using example_cache = decoded_cache<pair_example>;

// The model looks at this part of a picture: without augmentation it is the square in the middle.
inline crop_box box_of(const bitmap& shot, bool may_flip, const augment_config* augment,
                       const random_stream& draws) {
  if (augment == nullptr) return centre_crop(shot.width, shot.height);
  return random_crop(*augment, shot.width, shot.height, may_flip, draws);
}

// The same of pictures of any shape: without augmentation it is all of the picture.
inline crop_box shape_box_of(const bitmap& shot, bool may_flip, const augment_config* augment,
                             const random_stream& draws) {
  if (augment == nullptr) return {0, 0, shot.width, shot.height, false};
  const float shape = static_cast<float>(shot.width) / static_cast<float>(shot.height);
  return random_crop(*augment, shot.width, shot.height, may_flip, draws, shape);
}

// Reads, decodes and tokenizes; one for each thread, so that its memory is reused.
class example_reader {
 public:
  example_reader(const pair_source& source, const tokenizer& words, const example_config& config,
                 example_cache* cache = nullptr)
      : source_(source), words_(words), config_(config), cache_(cache) {
    check(config);
  }

  // Sample i, or null when it is damaged, which is then reported (or thrown, when the source's log is
  // strict). It is valid until the next call.
  const pair_example* get(isize i) {
    if (cache_ != nullptr) {
      if (const pair_example* found = cache_->find(i)) return found;
    }
    if (!source_.read_picture(i, bytes_))
      return leave_out(i, skip::bad_picture, "the shard became shorter, or cannot be read");
    try {
      decode_picture(bytes_, made_.shot, config_.limits);
    } catch (const error& problem) {
      // A missing library is no fault of the picture; skipping would leave nothing.
      if (problem.code() == std::string_view(picture_library_missing.code)) throw;
      return leave_out(i, skip::bad_picture, problem.what());
    }
    if (!source_.read_caption(i, bytes_))
      return leave_out(i, skip::bad_picture, "the shard became shorter, or cannot be read");
    const std::string_view caption = trimmed({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
    if (caption.empty()) return leave_out(i, skip::no_caption, "blank");
    made_.tokens.clear();
    words_.encode(caption, config_.context, made_.tokens, work_);
    made_.may_flip = caption_allows_flip(caption);
    if (cache_ != nullptr) cache_->keep(i, made_);
    return &made_;
  }

  // Writes pixels as planes (3, image, image); without augmentation these are the square in the middle.
  void pixels(const pair_example& from, const augment_config* augment, const random_stream& draws,
              float* out) {
    resize_(from.shot, box_of(from.shot, from.may_flip, augment, draws), config_.image, config_.colours, out);
  }
  // The same part of the picture, packed; returns the bytes that it takes of packed_room(image).
  isize pack(const pair_example& from, const augment_config* augment, const random_stream& draws,
             std::uint8_t* out, packed_picture& made) {
    return pack_picture(from.shot, box_of(from.shot, from.may_flip, augment, draws), config_.image,
                        config_.colours, resize_, out, made);
  }
  // Evaluation calls this; the result is false when the sample is damaged.
  bool read(isize i, float* pixels_out, std::vector<tokenizer::token>& tokens_out) {
    const pair_example* found = get(i);
    if (found == nullptr) return false;
    pixels(*found, nullptr, random_stream(0, 0), pixels_out);
    tokens_out.insert(tokens_out.end(), found->tokens.begin(), found->tokens.end());
    return true;
  }

  const example_config& config() const { return config_; }

 private:
  const pair_example* leave_out(isize i, skip why, const std::string& detail) {
    source_.skips().report(why, source_.name(i), detail, i);
    return nullptr;
  }

  const pair_source& source_;
  const tokenizer& words_;
  example_config config_;
  example_cache* cache_;
  std::vector<std::uint8_t> bytes_;
  pair_example made_;
  tokenizer::scratch work_;
  resampler resize_;
};

}  // namespace motet
