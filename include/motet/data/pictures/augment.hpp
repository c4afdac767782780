// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/resize.hpp>
#include <motet/tensor/random.hpp>

#include <string_view>

namespace motet {

struct augment_config {
  float smallest = 0.6f;  // share of the picture's area that a crop keeps
  float largest = 1.0f;
  float aspect = 1.15f;  // a crop's width / height lies between its inverse and this
  bool flip = true;      // left-right, half of the time, where the caption allows
};

inline void check(const augment_config& config) {
  if (!(config.smallest > 0 && config.smallest <= config.largest && config.largest <= 1 &&
        config.aspect >= 1 && config.aspect <= 100))
    fail(bad_data_option,
         sentence({"crops from ", config.smallest, " to ", config.largest, " of the area, aspect ",
                   config.aspect, "; wanted 0 < smallest <= largest <= 1 <= aspect <= 100"}));
}

// A mirrored picture makes a lie of a caption that says left, right or clockwise.
inline bool caption_allows_flip(std::string_view caption) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto letter = [&](char c) { return small(c) >= 'a' && small(c) <= 'z'; };
  char word[24];
  for (std::size_t i = 0; i < caption.size();) {
    std::size_t length = 0;
    for (; i < caption.size() && letter(caption[i]); ++i) {
      if (length < sizeof word) word[length++] = small(caption[i]);
    }
    if (length == 0) {
      ++i;
      continue;
    }
    const std::string_view own(word, length);
    if (own.starts_with("left") || own.starts_with("right") || own.ends_with("clockwise")) return false;
  }
  return true;
}

// The largest square in the middle: what evaluation looks at, every time the same.
inline crop_box centre_crop(isize width, isize height) {
  const isize side = std::min(width, height);
  return {(width - side) / 2, (height - side) / 2, side, side, false};
}

// A box of random area and shape inside the picture, from the draws of this one sample in this one place of
// the run. Its width over its height is that of a square, or `shape`, but for what the aspect allows.
// Asks for: shares of the area from 0 to 1, and an aspect of 1 at least; check() says so.
// Memory: none.
// Errors: MT-D13
// Example:
//   crop_box of_sample(const random_stream& draws) {
//     return random_crop({.smallest = 0.5f}, 640, 480, true, draws);
//   }
inline crop_box random_crop(const augment_config& config, isize width, isize height, bool may_flip,
                            const random_stream& draws, float shape = 1) {
  crop_box box = centre_crop(width, height);
  const float area = static_cast<float>(width) * static_cast<float>(height),
              stretch = std::log(config.aspect);
  std::uint64_t at = 1;
  for (int attempt = 0; attempt < 10; ++attempt, at += 4) {
    const float share = config.smallest + (config.largest - config.smallest) * draws.uniform(at);
    const float ratio = shape * std::exp(stretch * (2 * draws.uniform(at + 1) - 1));
    const auto w = static_cast<isize>(std::lround(std::sqrt(area * share * ratio))),
               h = static_cast<isize>(std::lround(std::sqrt(area * share / ratio)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    box.width = w;
    box.height = h;
    box.x = static_cast<isize>(draws.below(at + 2, static_cast<std::uint32_t>(width - w + 1)));
    box.y = static_cast<isize>(draws.below(at + 3, static_cast<std::uint32_t>(height - h + 1)));
    break;
  }
  box.flip = config.flip && may_flip && draws.uniform(0) < 0.5f;
  return box;
}

}  // namespace motet
