// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/resize.hpp>

#include <algorithm>
#include <cmath>

namespace motet {

// Two pictures with a white gap between them, the upper sides in line; beside nothing, the other one alone.
inline bitmap beside(const bitmap& a, const bitmap& b) {
  if (a.pixels.empty()) return b;
  constexpr isize gap = 4;
  bitmap out{a.width + gap + b.width, std::max(a.height, b.height), {}};
  out.pixels.assign(as_size(out.width * out.height * 3), 255);
  for (const auto& [from, left] : {std::pair(&a, isize{0}), std::pair(&b, a.width + gap)})
    for (isize y = 0; y < from->height; ++y)
      std::copy_n(from->pixels.begin() + y * from->width * 3, from->width * 3,
                  out.pixels.begin() + (y * out.width + left) * 3);
  return out;
}

// What a net sees or draws, planes (3, side, side) of scaled numbers, as a picture again; what is darker than
// black or brighter than white is these.
inline bitmap shown(const float* planes, isize side, const resampler::colours& scale = {}) {
  bitmap out{side, side, std::vector<std::uint8_t>(as_size(3 * side * side))};
  for (isize c = 0; c < 3; ++c)
    for (isize p = 0; p < side * side; ++p) {
      const float light = planes[c * side * side + p] * scale.deviation[c] + scale.mean[c];
      out.pixels[as_size(3 * p + c)] =
          static_cast<std::uint8_t>(std::isnan(light) ? 0 : std::clamp(255 * light + 0.5f, 0.0f, 255.0f));
    }
  return out;
}

}  // namespace motet
