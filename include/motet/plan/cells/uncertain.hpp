// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace motet {

// The provenance says where a number comes from, the surest first.
enum class provenance : std::uint8_t {
  measured,      // of the very thing
  corrected,     // an estimate, scaled by what was measured of the same model on the same kind of device
  interpolated,  // between measured points
  modelled,      // from the rates of a machine
  extrapolated   // beyond all points
};

constexpr std::string_view name_of(provenance from) {
  constexpr std::string_view names[] = {"measured", "corrected", "interpolated", "modelled", "extrapolated"};
  return names[as_size(static_cast<isize>(from))];
}

// A number that is not known for sure. The bar is one standard deviation; parts that are wrong are wrong
// together, so bars of sums add up. A result is from where its least sure part is.
struct uncertain {
  double value = 0;
  double bar = 0;
  provenance from = provenance::measured;

  constexpr double lower() const { return value > bar ? value - bar : 0; }
  constexpr double upper() const { return value + bar; }
  constexpr double relative_bar() const { return value > 0 ? bar / value : 0; }

  friend constexpr uncertain operator+(const uncertain& a, const uncertain& b) {
    return {a.value + b.value, a.bar + b.bar, std::max(a.from, b.from)};
  }
  friend constexpr uncertain operator*(double times, const uncertain& of) {
    return {times * of.value, times * of.bar, of.from};
  }
  friend constexpr bool operator==(const uncertain&, const uncertain&) = default;
};

}  // namespace motet
