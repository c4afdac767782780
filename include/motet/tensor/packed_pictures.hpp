// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/resize_axis.hpp>

namespace motet {

// A decoded picture, or the part of one that is looked at: rows from the top, the channels of a pixel
// together. It is resized to the model's square, or to its own grid of patches, when the model reads it. Or,
// with pitch 0, what was resized before: floats in planes, scaled and mirrored.
struct packed_picture {
  std::int64_t at = 0;                 // its first byte among all that were packed together
  std::int32_t pitch = 0;              // bytes from row to row; it takes pitch x height bytes
  std::int32_t width = 0, height = 0;  // in pixels
  std::int32_t flip = 0;               // not 0: left and right change sides
  // The grid of patches that a model of pictures of any shape sees of it, down and across; none: a square.
  std::int32_t rows = 0, columns = 0;

  MOTET_HOST_DEVICE constexpr isize patches() const { return isize{rows} * columns; }
  // It takes so much where a square, or a patch of a grid, has so many numbers.
  constexpr isize bytes(isize of_square, isize of_patch) const {
    if (pitch > 0) return isize{pitch} * height;
    return (rows > 0 ? patches() * of_patch : of_square) * static_cast<isize>(sizeof(float));
  }
};

// The pictures of a batch in one piece of memory, one behind the other, each of a size of its own. Slices of
// a batch have the same origin. Where `at` and the pitch are multiples of 16, sixteen bytes are read at once.
struct packed_pictures {
  static constexpr isize most_channels = 4;
  static constexpr isize most_line = 8192;  // numbers in a row of a picture that is resized later

  // of the picture *origin; null: there are none
  const std::uint8_t* bytes = nullptr;
  const packed_picture* each = nullptr;                         // (samples)
  const packed_picture* origin = nullptr;                       // whose bytes come first
  float factor[most_channels] = {}, shift[most_channels] = {};  // a number is byte x factor + shift

  MOTET_HOST_DEVICE const std::uint8_t* of(isize sample) const {
    return bytes + (each[sample].at - origin->at);
  }

  // Memory for a picture in the form that takes most: floats.
  static constexpr isize most_bytes(isize channels, isize side) {
    return round_up(channels * side * side * static_cast<isize>(sizeof(float)), 16);
  }
  static constexpr isize pitch_of(isize width, isize channels) { return round_up(width * channels, 16); }
  // A part of a picture may stay as it is: then it takes no more memory than floats.
  static constexpr bool takes(isize width, isize height, isize channels, isize side) {
    return channels <= most_channels && resize_axis::takes(width, side) && resize_axis::takes(height, side) &&
           width * channels <= most_line && pitch_of(width, channels) * height <= most_bytes(channels, side);
  }
};

}  // namespace motet
