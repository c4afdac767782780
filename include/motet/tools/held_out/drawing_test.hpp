// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <array>
#include <span>
#include <vector>

namespace motet {

// How often the mean colour of what was drawn is nearer to that of the picture it should be than to that of
// another one: of all pairs of a drawing and another's picture. One that draws anything reaches a half.
struct drawing_result {
  isize pictures = 0;
  std::vector<isize> nearer{};  // of each drawing, than so many of the others

  double share() const {
    isize sum = 0;
    for (const isize each : nearer) sum += each;
    const isize pairs = pictures * (pictures - 1);
    return pairs > 0 ? static_cast<double>(sum) / static_cast<double>(pairs) : 0.5;
  }
};

namespace detail {

using mean_colour = std::array<double, 3>;
inline mean_colour mean_colour_of(std::span<const float> planes) {
  mean_colour out{};
  const std::size_t each = planes.size() / 3;
  for (std::size_t i = 0; i < planes.size(); ++i)
    out[i / each] += static_cast<double>(planes[i]) / static_cast<double>(each);
  return out;
}
inline double apart(const mean_colour& a, const mean_colour& b) {
  double sum = 0;
  for (std::size_t c = 0; c < 3; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

}  // namespace detail

// Both have (pictures, 3, side, side).
inline drawing_result compare_colours(std::span<const float> drawn, std::span<const float> wanted,
                                      isize pictures) {
  drawing_result out{pictures};
  if (pictures == 0) return out;
  const std::size_t each = drawn.size() / as_size(pictures);
  std::vector<detail::mean_colour> own, others;
  for (std::size_t p = 0; p < as_size(pictures); ++p) {
    own.push_back(detail::mean_colour_of(drawn.subspan(p * each, each)));
    others.push_back(detail::mean_colour_of(wanted.subspan(p * each, each)));
  }
  for (std::size_t p = 0; p < own.size(); ++p) {
    isize nearer = 0;
    for (const detail::mean_colour& other : others)
      nearer += detail::apart(own[p], others[p]) < detail::apart(own[p], other) ? 1 : 0;
    out.nearer.push_back(nearer);
  }
  return out;
}

}  // namespace motet
