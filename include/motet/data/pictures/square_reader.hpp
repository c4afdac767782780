// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>
#include <motet/data/pictures/augment.hpp>
#include <motet/data/pictures/decode.hpp>
#include <motet/data/pictures/picture_grid.hpp>
#include <motet/data/pictures/resize.hpp>

#include <string>
#include <vector>

namespace motet {

// Reads pictures from files as models are shown them outside of training: the largest square in the middle,
// or for models of pictures of any shape all of it, resized. Keeps its memory from one to the next.
class square_reader {
 public:
  // Reads a picture to (3, side, side); what is wrong is told with the file's name.
  void read(const std::string& file, isize side, const resampler::colours& colours, float* planes) {
    decode(file);
    resize_(shot_, centre_crop(shot_.width, shot_.height), side, colours, planes);
  }
  // Appends (3, rows x patch, columns x patch) of the grid that it gives.
  picture_grid read_shape(const std::string& file, const shape_limits& most,
                          const resampler::colours& colours, std::vector<float>& planes) {
    decode(file);
    const auto grid = grid_within(most, shot_.width, shot_.height);
    if (!grid)
      fail(picture_too_long, sentence({file, " has ", shot_.width, " x ", shot_.height,
                                       " pixels, one side more than ", most.most_patches,
                                       " times the other; the model takes ", most.most_patches, " patches"}));
    const std::size_t before = planes.size();
    planes.resize(before + as_size(grid->patches() * most.numbers_of_patch()));
    resize_(shot_, {0, 0, shot_.width, shot_.height, false}, grid->rows * most.patch,
            grid->columns * most.patch, colours, planes.data() + before);
    return *grid;
  }

 private:
  void decode(const std::string& file) {
    const input_file source(file);
    bytes_.resize(as_size(source.size()));
    source.read(0, bytes_);
    try {
      decode_picture(bytes_, shot_);
    } catch (const error& problem) {
      throw error(problem, file);
    }
  }

  std::vector<std::uint8_t> bytes_;
  bitmap shot_;
  resampler resize_;
};

}  // namespace motet
