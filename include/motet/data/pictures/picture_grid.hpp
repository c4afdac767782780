// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/bitmap.hpp>

#include <algorithm>
#include <optional>

namespace motet {

// A model that takes pictures of any shape sees whole patches of them, at most so many of each.
struct shape_limits {
  isize patch = 0;         // pixels of a patch's side
  isize most_patches = 0;  // of a picture; 0: it sees squares

  bool any() const { return most_patches > 0; }
  isize numbers_of_patch() const { return bitmap::channels * patch * patch; }
  // What the largest picture takes as floats.
  isize bytes() const {
    return round_up(most_patches * numbers_of_patch() * static_cast<isize>(sizeof(float)), 16);
  }
};

inline void check(const shape_limits& of) {
  if (of.most_patches < 0 || (of.any() && of.patch < 1))
    fail(bad_data_option, sentence({"pictures of at most ", of.most_patches, " patches of ", of.patch, " x ",
                                    of.patch, " pixels; wanted one of each at least"}));
}

struct picture_grid {
  isize rows = 0, columns = 0;
  isize patches() const { return rows * columns; }
  bool operator==(const picture_grid&) const = default;
};

// The grid of patches that a picture becomes: as many as it has, to whole ones, or as large a grid as it may
// have with the sides of the picture in their proportion. Whole numbers alone decide, so that it is the same
// everywhere. Nothing, where one side is so many times the other that a strip of one patch would not do.
inline std::optional<picture_grid> grid_within(const shape_limits& most, isize width, isize height) {
  if (std::max(width, height) > most.most_patches * std::min(width, height)) return {};
  const auto nearest = [&](isize pixels) {
    return std::max<isize>(1, (pixels + most.patch / 2) / most.patch);
  };
  const picture_grid whole{nearest(height), nearest(width)};
  if (whole.rows <= most.most_patches && whole.patches() <= most.most_patches) return whole;
  // The largest number whose square is not above most_patches x along / across.
  const auto shrunk = [&](isize along, isize across) {
    isize low = 1, high = most.most_patches;
    while (low < high) {
      const isize middle = (low + high + 1) / 2;
      if (middle * middle * across <= most.most_patches * along) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  return picture_grid{shrunk(height, width), shrunk(width, height)};
}

}  // namespace motet
