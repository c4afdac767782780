// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/model.hpp>
#include <motet/nn/towers/drawer.hpp>
#include <motet/tensor/random.hpp>

#include <cstdint>
#include <vector>

// A net that learns to draw in milliseconds, and pictures for it.

inline constexpr motet::drawer_config small_drawer_config{
    .image = 8, .patch = 4, .channels = 1, .width = 16, .layers = 2, .heads = 2, .hidden = 24, .classes = 2};
using small_drawer = motet::drawer<small_drawer_config>;
using small_drawing = motet::model<motet::join<motet::denoise, motet::module<"draw", small_drawer>>>;

// Class 0 is bright on the left, class 1 at the top; a little noise lies on both.
struct small_drawings {
  std::vector<float> pixels;
  std::vector<std::int32_t> classes;
  explicit small_drawings(motet::isize samples, std::uint64_t seed = 1) {
    const motet::random_stream draw(seed, "pictures");
    for (motet::isize s = 0; s < samples; ++s) {
      classes.push_back(static_cast<std::int32_t>(s % 2));
      for (motet::isize y = 0; y < 8; ++y)
        for (motet::isize x = 0; x < 8; ++x)
          pixels.push_back(shade(classes.back(), y, x) +
                           0.05f * static_cast<float>(draw.normal(pixels.size())));
    }
  }
  static float shade(std::int32_t of, motet::isize y, motet::isize x) {
    return (of == 0 ? x : y) < 4 ? 1.0f : -1.0f;
  }
  motet::drawn_pictures get(std::uint64_t step) const {
    const auto samples = static_cast<motet::isize>(classes.size());
    return {{pixels.data(), samples},
            classes.data(),
            {.seed = 1, .step = step},
            1 / static_cast<double>(samples)};
  }
};
