// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/pack.hpp>
#include <motet/tensor/random.hpp>

#include "deviation.hpp"
#include "grid.hpp"

namespace motet::laws {

// Random pictures, random boxes in them, and what the loader makes of them: planes of floats, and the same
// packed.
struct packed_shots {
  isize side;
  std::vector<std::uint8_t> bytes;
  std::vector<packed_picture> each;
  grid<float> planes;
  resampler::colours colours;

  packed_shots(isize model_side, std::vector<crop_box> boxes, std::uint64_t seed)
      : side(model_side), planes(static_cast<isize>(boxes.size()), 3 * model_side * model_side) {
    const random_stream draw(seed, "shots");
    for (int c = 0; c < 3; ++c) {
      colours.mean[c] = 0.4f + 0.05f * static_cast<float>(c);
      colours.deviation[c] = 0.2f + 0.03f * static_cast<float>(c);
    }
    resampler resize;
    std::vector<std::uint8_t> room(static_cast<std::size_t>(packed_room(side)));
    std::uint64_t drawn = 0;
    for (std::size_t s = 0; s < boxes.size(); ++s) {
      crop_box& box = boxes[s];
      bitmap shot{box.width + 3, box.height + 2, {}};
      box.x = static_cast<isize>(s) % 4;
      box.y = static_cast<isize>(s) % 3;
      shot.pixels.resize(static_cast<std::size_t>(shot.width * shot.height * 3));
      for (std::uint8_t& value : shot.pixels) value = static_cast<std::uint8_t>(draw.below(drawn++, 256));
      resize(shot, box, side, colours, planes.view().row(static_cast<isize>(s)));
      packed_picture made{static_cast<std::int64_t>(bytes.size()), 0, 0, 0, 0};
      const isize size = pack_picture(shot, box, side, colours, resize, room.data(), made);
      bytes.insert(bytes.end(), room.begin(), room.begin() + size);
      each.push_back(made);
    }
  }

  packed_pictures at(const std::uint8_t* data, const packed_picture* pictures) const {
    packed_pictures out{data, pictures, pictures, {}, {}};
    set_colours(colours, out);
    return out;
  }
  packed_pictures here() const { return at(bytes.data(), each.data()); }

  // Smaller and larger than the model's picture, of the same size, long and narrow, too large to stay as they
  // are; some mirrored.
  static std::vector<crop_box> boxes(isize side) {
    return {{0, 0, side, side, false},
            {0, 0, side + 1, side - 1, true},
            {0, 0, 2 * side - 1, 2 * side, false},
            {0, 0, 1, 1, true},
            {0, 0, side / 2 + 1, 3 * side / 2, true},
            {0, 0, 5 * side, 3, false},
            {0, 0, 2, 7 * side + 1, true},
            {0, 0, 3 * side, 2 * side, true},
            {0, 0, 17 * side, 1, true},
            {0, 0, side, side, true}};
  }
};

}  // namespace motet::laws
