// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/model.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>
#include <motet/tensor/random.hpp>

#include <cstdint>
#include <vector>

// A language model that sees and trains in milliseconds, and samples for it.

inline constexpr motet::vit_config small_sight_eye{.image = 4,
                                                   .patch = 2,
                                                   .channels = 1,
                                                   .width = 8,
                                                   .layers = 2,
                                                   .heads = 2,
                                                   .hidden = 12,
                                                   .pool = motet::pool_kind::first};
inline constexpr motet::decoder_config small_sight_words{.vocabulary = 23,
                                                         .context = 14,
                                                         .width = 16,
                                                         .layers = 4,
                                                         .heads = 4,
                                                         .kv_heads = 2,
                                                         .hidden = 20,
                                                         .rotary = 100};
using small_sight = motet::seeing_decoder<motet::picture_rows<small_sight_eye>, motet::projector<8, 16, 12>,
                                          small_sight_words, 2>;
using small_seen_speech = motet::model<motet::join<motet::next_token, motet::module<"talk", small_sight>>>;

// Samples of one to six tokens and none to two pictures of four rows, somewhere among them. Class tokens'
// rows have no place.
struct small_seen_text {
  std::vector<std::int32_t> ids, targets, places;
  std::vector<motet::isize> offsets{0}, picture_offsets{0};
  std::vector<float> pixels;
  motet::isize asked = 0;

  explicit small_seen_text(motet::isize all, std::uint64_t seed = 1) {
    const motet::random_stream shape(seed, "shape"), words(seed, "words"), shades(seed, "shades");
    std::uint64_t draw = 0;
    motet::isize seen = 0;
    for (motet::isize s = 0; s < all; ++s) {
      const auto length = 1 + shape.below(draw++, 6), shown = shape.below(draw++, 3);
      for (std::uint32_t k = 0, drawn = 0; k < length; ++k) {
        while (drawn < shown && shape.below(draw++, length) <= k) {
          show();
          ++seen, ++drawn;
        }
        ids.push_back(static_cast<std::int32_t>(words.below(ids.size(), 23)));
        targets.push_back(words.below(1000 + ids.size(), 3) == 0
                              ? -1
                              : static_cast<std::int32_t>(words.below(2000 + ids.size(), 23)));
        asked += targets.back() >= 0 ? 1 : 0;
      }
      offsets.push_back(static_cast<motet::isize>(ids.size()));
      picture_offsets.push_back(seen);
    }
    for (motet::isize i = 0; i < seen * 16; ++i)
      pixels.push_back(static_cast<float>(shades.normal(static_cast<std::uint64_t>(i))));
  }
  motet::pictured_tokens get() const {
    const auto all = static_cast<motet::isize>(offsets.size()) - 1;
    return {{{ids.data(), {all, 0, offsets.data()}}, targets.data(), 1 / static_cast<double>(asked)},
            {pixels.data(), picture_offsets.back()},
            picture_offsets.data(),
            places.data()};
  }

 private:
  void show() {
    places.push_back(-1);
    for (int row = 0; row < 4; ++row) {
      places.push_back(static_cast<std::int32_t>(ids.size()));
      ids.push_back(-1);
      targets.push_back(-1);
    }
  }
};
