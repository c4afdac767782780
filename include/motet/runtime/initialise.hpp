// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/parameter.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace motet {

namespace detail {

// Row r of the square has the sine positions of (r / side, r % side): the first half of the columns from the one, the second from the other.
template <class Master>
void fill_sine_grid(Master* data, const parameter& of) {
  const auto side = static_cast<index>(std::sqrt(static_cast<double>(of.rows)));
  const index lead = of.rows - side * side, quarter = of.width / 4;
  for (index r = 0; r < side * side; ++r)
    for (index c = 0; c < 4 * quarter; ++c) {
      const auto place = static_cast<double>(c < 2 * quarter ? r / side : r % side);
      const index wave = c % quarter;
      const double angle = place * std::pow(10000.0, -static_cast<double>(wave) / static_cast<double>(quarter));
      const double value = (c / quarter) % 2 == 0 ? std::sin(angle) : std::cos(angle);
      data[(lead + r) * of.width + c] = static_cast<Master>(value * static_cast<double>(of.start.scale));
    }
}

}  // namespace detail

// Fills a flat buffer as the parameters say. A value depends on (seed, name, element) alone, so that every plan starts with the same numbers.
// What lies between the parameters becomes zero.
template <class Master>
void initialise(std::span<const parameter> parameters, std::uint64_t seed, Master* data, index size) {
  std::fill_n(data, size, Master(0));
  for (const parameter& each : parameters) {
    Master* const own = data + each.offset;
    switch (each.start.kind) {
      case fill::zeros: break;
      case fill::ones: std::fill_n(own, each.size(), Master(1)); break;
      case fill::constant: std::fill_n(own, each.size(), Master(each.start.scale)); break;
      case fill::sine_grid: detail::fill_sine_grid(own, each); break;
      case fill::normal: {
        const random_stream draws(seed, each.name);
        for (index i = 0; i < each.size(); ++i)
          own[i] = static_cast<Master>(static_cast<float>(draws.normal(static_cast<std::uint64_t>(i))) * each.start.scale);
        break;
      }
    }
  }
}

}  // namespace motet
