// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/picture_grid.hpp>
#include <motet/data/pictures/resize.hpp>
#include <motet/tensor/packed_pictures.hpp>

namespace motet {

// Pictures leave the loader as the floats that the model sees, or as the bytes of the part that is looked at,
// which the model's device resizes. Bytes are fewer, and cutting them out is all that is left to do for the
// loader.
enum class picture_form : std::uint8_t { floats, bytes };

// Memory for each packed picture.
inline isize packed_room(isize side) { return packed_pictures::most_bytes(bitmap::channels, side); }

// Cuts the box out and leaves it as it is. One that is so large that floats take less is resized here, so
// that the result is the same in any case. Returns what it took of packed_room(side).
inline isize pack_picture(const bitmap& from, const crop_box& box, isize side,
                          const resampler::colours& scale, resampler& resize, std::uint8_t* to,
                          packed_picture& made) {
  made = {made.at, 0, static_cast<std::int32_t>(box.width), static_cast<std::int32_t>(box.height),
          box.flip ? 1 : 0};
  if (!packed_pictures::takes(box.width, box.height, bitmap::channels, side)) {
    resize(from, box, side, scale, reinterpret_cast<float*>(to));
    return packed_room(side);
  }
  const isize length = box.width * bitmap::channels,
              pitch = packed_pictures::pitch_of(box.width, bitmap::channels);
  made.pitch = static_cast<std::int32_t>(pitch);
  for (isize y = 0; y < box.height; ++y, to += pitch) {
    std::memcpy(to, from.pixels.data() + ((box.y + y) * from.width + box.x) * bitmap::channels,
                as_size(length));
    std::memset(to + length, 0, as_size(pitch - length));
  }
  return pitch * box.height;
}

// Resizes the box to a grid of patches, as floats in planes, and returns the bytes that these take.
inline isize pack_shape(const bitmap& from, const crop_box& box, const picture_grid& grid, isize patch,
                        const resampler::colours& scale, resampler& resize, std::uint8_t* to,
                        packed_picture& made) {
  made = {made.at, 0, static_cast<std::int32_t>(box.width), static_cast<std::int32_t>(box.height), 0};
  made.rows = static_cast<std::int32_t>(grid.rows), made.columns = static_cast<std::int32_t>(grid.columns);
  resize(from, box, grid.rows * patch, grid.columns * patch, scale, reinterpret_cast<float*>(to));
  return round_up(made.bytes(0, shape_limits{patch, 1}.numbers_of_patch()), 16);
}

// The colours of packed pictures are scaled so.
inline void set_colours(const resampler::colours& scale, packed_pictures& of) {
  for (int c = 0; c < 3; ++c) {
    of.factor[c] = 1 / (255 * scale.deviation[c]);
    of.shift[c] = -scale.mean[c] / scale.deviation[c];
  }
}

}  // namespace motet
