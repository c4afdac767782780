// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/model.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/tensor/arena.hpp>
#include <motet/tensor/random.hpp>

#include <cstdint>
#include <vector>

// Towers that train in milliseconds, and a batch for them with captions of unequal length.

using small_picture =
    motet::module<"picture",
                  motet::vit<motet::vit_config{
                      .image = 8, .patch = 4, .width = 16, .layers = 2, .heads = 2, .embedding = 8}>>;
using small_caption =
    motet::module<"caption",
                  motet::text_tower<motet::text_config{
                      .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using small_model = motet::model<motet::join<motet::info_nce, small_picture, small_caption>>;

struct small_batch {
  motet::buffer<float> pixels;
  std::vector<std::int32_t> ids;
  std::vector<motet::isize> offsets{0};

  explicit small_batch(motet::isize samples, std::uint64_t seed = 1) : pixels(samples * 3 * 8 * 8) {
    const motet::random_stream normal(seed, "pixels"), lengths(seed, "lengths"), words(seed, "words");
    for (motet::isize i = 0; i < pixels.size(); ++i)
      pixels[i] = static_cast<float>(normal.normal(static_cast<std::uint64_t>(i)));
    for (motet::isize s = 0; s < samples; ++s) {
      const auto length = static_cast<motet::isize>(1 + lengths.below(static_cast<std::uint64_t>(s), 6));
      for (motet::isize k = 0; k < length; ++k)
        ids.push_back(static_cast<std::int32_t>(words.below(ids.size(), 20)));
      offsets.push_back(static_cast<motet::isize>(ids.size()));
    }
  }
  small_model::batch get() const {
    const auto samples = static_cast<motet::isize>(offsets.size()) - 1;
    return {motet::pictures{pixels.data(), samples}, motet::tokens{ids.data(), {samples, 0, offsets.data()}}};
  }
};
