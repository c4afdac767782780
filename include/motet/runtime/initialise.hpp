// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/held_runs.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace motet {

namespace detail {

// Element (r, c) of a square's sine positions: row r stands for place (r / side, r % side); the first half of the columns comes from the one, the second
// from the other.
inline double sine_of(const parameter& of, index r, index c) {
  const auto side = static_cast<index>(std::sqrt(static_cast<double>(of.rows)));
  const index place = r - (of.rows - side * side), quarter = of.width / 4;
  if (place < 0 || c >= 4 * quarter) return 0;
  const auto along = static_cast<double>(c < 2 * quarter ? place / side : place % side);
  const double angle = along * std::pow(10000.0, -static_cast<double>(c % quarter) / static_cast<double>(quarter));
  return (c / quarter) % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

}  // namespace detail

// Fills a flat buffer as the parameters say, of each what is held of it. A value depends on (seed, name, element) alone, so that every plan starts with
// the same numbers. What lies between the parameters becomes zero.
template <class Master>
void initialise(std::span<const parameter> parameters, std::uint64_t seed, Master* data, index size) {
  std::fill_n(data, size, Master(0));
  for (const parameter& each : parameters) {
    const random_stream draws(seed, each.name);
    each_run(each, [&](index at, index element, index count) {
      Master* const own = data + at;
      switch (each.start.kind) {
        case fill::zeros: break;
        case fill::ones: std::fill_n(own, count, Master(1)); break;
        case fill::constant: std::fill_n(own, count, Master(each.start.scale)); break;
        case fill::sine_grid:
          for (index i = 0; i < count; ++i) {
            const double value = detail::sine_of(each, (element + i) / each.width, (element + i) % each.width);
            own[i] = static_cast<Master>(value * static_cast<double>(each.start.scale));
          }
          break;
        case fill::normal:
          for (index i = 0; i < count; ++i)
            own[i] = static_cast<Master>(static_cast<float>(draws.normal(static_cast<std::uint64_t>(element + i))) * each.start.scale);
          break;
      }
    });
  }
}

}  // namespace motet
