// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/dtype.hpp>
#include <motet/tensor/random.hpp>
#include <motet/tensor/view.hpp>

#include "deviation.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace motet::laws {

// A matrix that owns its memory, for tests: rows lie `gap` elements apart, and the gaps hold a mark that an
// operation must leave alone.
template <class T>
struct grid {
  static constexpr float mark = -77.0f;
  isize rows = 0, width = 0, stride = 0;
  std::vector<T> data;

  grid() = default;
  grid(isize row_count, isize columns, isize gap = 0)
      : rows(row_count),
        width(columns),
        stride(columns + gap),
        data(static_cast<std::size_t>(row_count * stride + gap + 1), T(mark)) {}

  // Draws numbers evenly spread in [-scale, scale], plus shift.
  grid& random(std::uint64_t seed, double scale = 1, double shift = 0) {
    const random_stream draw(seed, "grid");
    for (isize r = 0; r < rows; ++r)
      for (isize c = 0; c < width; ++c)
        at(r, c) = T(static_cast<float>(
            (2.0 * static_cast<double>(draw.uniform(static_cast<std::uint64_t>(r * width + c))) - 1) * scale +
            shift));
    return *this;
  }
  grid& fill(double value) {
    for (isize r = 0; r < rows; ++r)
      for (isize c = 0; c < width; ++c) at(r, c) = T(static_cast<float>(value));
    return *this;
  }
  T& at(isize r, isize c) { return data[static_cast<std::size_t>(r * stride + c)]; }
  const T& at(isize r, isize c) const { return data[static_cast<std::size_t>(r * stride + c)]; }
  double operator()(isize r, isize c) const { return static_cast<double>(at(r, c)); }
  matrix<T> view() { return {data.data(), rows, width, stride}; }
  matrix<const T> view() const { return {data.data(), rows, width, stride}; }

  // Says whether everything outside the rows still holds the mark.
  intact gaps_intact() const {
    for (isize i = 0; i < static_cast<isize>(data.size()); ++i)
      if (const auto found = static_cast<float>(data[static_cast<std::size_t>(i)]);
          (stride == 0 || i / stride >= rows || i % stride >= width) && found != mark)
        return {false, std::to_string(found) + " at " + std::to_string(i) + ", outside of " +
                           std::to_string(rows) + " rows of " + std::to_string(width) + " that begin " +
                           std::to_string(stride) + " apart"};
    return {};
  }
};

// Largest distance between two matrices of equal shape, in units of (1 + |want|); a NaN counts as infinite.
template <class A, class B>
deviation distance(const grid<A>& got, const grid<B>& want) {
  deviation found;
  if (got.rows != want.rows) found.fail("the number of rows", got.rows, want.rows);
  else if (got.width != want.width) found.fail("the width", got.width, want.width);
  else
    for (isize r = 0; r < got.rows; ++r)
      for (isize c = 0; c < got.width; ++c)
        found.add(std::abs(got(r, c) - want(r, c)) / (1 + std::abs(want(r, c))), got(r, c), want(r, c),
                  in_matrix(r, c));
  return found;
}

// Rounding allows this for a sum of moderate length.
template <class T>
inline constexpr double tolerance = sizeof(T) == 8   ? 1e-12
                                    : sizeof(T) == 4 ? 2e-5
                                                     : 1e-2;

}  // namespace motet::laws
