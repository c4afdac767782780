// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

namespace motet {

// Bicubic interpolation along one side of a grid (Keys 1981, a = -0.75), by centres, edges repeated: how much
// each of `from` points counts at point i of `to`. It is torch's interpolate(mode="bicubic"), which does not
// average when it shrinks.
struct cubic_axis {
  isize from = 1, to = 1;

  struct taps {
    isize at[4] = {};
    double weight[4] = {};
  };
  constexpr taps of(isize i) const {
    const double centre =
        (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    const isize first = floor(centre);
    taps found;
    for (isize t = 0; t < 4; ++t) {
      const isize point = first - 1 + t;
      found.at[t] = point < 0 ? 0 : point < from ? point : from - 1;
      found.weight[t] = weight(centre - static_cast<double>(point));
    }
    return found;
  }

 private:
  static constexpr isize floor(double x) {
    const auto whole = static_cast<isize>(x);
    return static_cast<double>(whole) > x ? whole - 1 : whole;
  }
  static constexpr double weight(double distance) {
    constexpr double a = -0.75;
    const double d = distance < 0 ? -distance : distance;
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
  }
};

}  // namespace motet
