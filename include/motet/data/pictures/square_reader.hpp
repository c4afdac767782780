// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/file.hpp>
#include <motet/data/pictures/augment.hpp>
#include <motet/data/pictures/decode.hpp>
#include <motet/data/pictures/resize.hpp>

#include <string>
#include <vector>

namespace motet {

// Reads pictures from files as models are shown them outside of training: the largest square in the middle,
// resized. Keeps its memory from one to the next.
class square_reader {
 public:
  // To (3, side, side); what is wrong is told with the file's name.
  void read(const std::string& file, isize side, const resampler::colours& colours, float* planes) {
    const input_file source(file);
    bytes_.resize(as_size(source.size()));
    source.read(0, bytes_);
    try {
      decode_picture(bytes_, shot_);
    } catch (const error& problem) {
      throw error(problem, file);
    }
    resize_(shot_, centre_crop(shot_.width, shot_.height), side, colours, planes);
  }

 private:
  std::vector<std::uint8_t> bytes_;
  bitmap shot_;
  resampler resize_;
};

}  // namespace motet
