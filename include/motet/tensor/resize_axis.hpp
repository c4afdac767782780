// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

namespace motet {

// Bilinear interpolation along one side of a picture, which averages when it shrinks: how much each of `from`
// pixels counts in pixel i of `to`. Weights are whole numbers, so that all devices weigh alike. They are
// those of data/pictures/resize.hpp: 1 - distance / support, of centres, where that is positive.
struct resize_axis {
  static constexpr std::int32_t most_to = 8000, most_shrink = 16;  // beyond these, 32 bits are too few
  static constexpr bool takes(isize from, isize to) {
    return from >= 1 && to >= 1 && to <= most_to && from <= most_shrink * to;
  }

  std::int32_t from = 1, to = 1;

  struct taps {
    std::int32_t first = 0, count = 0;  // pixels
    // from the first one's centre to that of pixel i, in steps of 1 / (2 to)
    std::int32_t distance = 0;
    std::int32_t sum = 1;  // of the weights
  };
  MOTET_HOST_DEVICE constexpr taps at(std::int32_t i) const {
    const std::int32_t centre = (2 * i + 1) * from, reach = support() + to;
    const auto step = static_cast<std::uint32_t>(2 * to);
    taps found;
    // Rounded down; unsigned numbers are divided faster.
    const std::int32_t low = centre + to - support();
    found.first = low > 0 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(low) / step) : 0;
    const auto end = static_cast<std::int32_t>(static_cast<std::uint32_t>(centre + reach) / step);
    found.count = (end < from ? end : from) - found.first;
    found.distance = (2 * found.first + 1) * to - centre;
    found.sum = 0;
    for (std::int32_t t = 0; t < found.count; ++t) found.sum += weight(found, t);
    return found;
  }
  MOTET_HOST_DEVICE constexpr std::int32_t weight(const taps& of, std::int32_t t) const {
    const std::int32_t distance = of.distance + 2 * to * t,
                       left = support() - (distance < 0 ? -distance : distance);
    return left > 0 ? left : 0;
  }

 private:
  // A pixel counts nothing from this distance on, in the same steps.
  MOTET_HOST_DEVICE constexpr std::int32_t support() const { return 2 * (from > to ? from : to); }
};

}  // namespace motet
