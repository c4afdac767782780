// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/bitmap.hpp>

#include <algorithm>
#include <cmath>

namespace motet {

// The part of a picture that is looked at, in pixels.
struct crop_box {
  isize x = 0, y = 0, width = 0, height = 0;
  bool flip = false;
};

// Cuts a box out, resizes it to a square or to another size by bilinear interpolation that averages when it
// shrinks (what torchvision calls antialias), scales the colours and writes planes: red, green, blue. Reused
// from sample to sample, it stops allocating.
class resampler {
 public:
  struct colours {
    float mean[3] = {0.5f, 0.5f, 0.5f};
    float deviation[3] = {0.5f, 0.5f, 0.5f};
  };

  void operator()(const bitmap& from, const crop_box& box, isize side, const colours& scale, float* out) {
    (*this)(from, box, side, side, scale, out);
  }
  void operator()(const bitmap& from, const crop_box& box, isize height, isize width, const colours& scale,
                  float* out);

 private:
  struct taps {
    isize first, count, weights;
  };
  struct axis {
    isize from = -1, to = -1;
    std::vector<taps> of;
    std::vector<float> weights;
  };

  static void weigh(isize from, isize to, axis& made);

  axis rows_, columns_;
  std::vector<float> line_;
};

#if !defined(MOTET_COMPILED_DATA)
MOTET_BODY void resampler::operator()(const bitmap& from, const crop_box& box, isize height, isize width,
                                      const colours& scale, float* out) {
  weigh(box.height, height, rows_);
  weigh(box.width, width, columns_);
  line_.resize(as_size(box.width * 3));
  float factor[3], shift[3];
  for (int c = 0; c < 3; ++c) {
    factor[c] = 1 / (255 * scale.deviation[c]);
    shift[c] = -scale.mean[c] / scale.deviation[c];
  }
  const isize plane = height * width, length = box.width * 3;
  float* const line = line_.data();
  for (isize y = 0; y < height; ++y) {
    const taps& down = rows_.of[as_size(y)];
    for (isize t = 0; t < down.count; ++t) {
      const float weight = rows_.weights[as_size(down.weights + t)];
      const std::uint8_t* const source =
          from.pixels.data() + ((box.y + down.first + t) * from.width + box.x) * 3;
      if (t == 0) {
        for (isize i = 0; i < length; ++i) line[i] = weight * static_cast<float>(source[i]);
      } else {
        for (isize i = 0; i < length; ++i) line[i] += weight * static_cast<float>(source[i]);
      }
    }
    for (isize x = 0; x < width; ++x) {
      const taps& across = columns_.of[as_size(x)];
      const float* const weights = columns_.weights.data() + across.weights;
      const float* pixel = line + across.first * 3;
      float red = 0, green = 0, blue = 0;
      for (isize t = 0; t < across.count; ++t, pixel += 3) {
        red += weights[t] * pixel[0];
        green += weights[t] * pixel[1];
        blue += weights[t] * pixel[2];
      }
      float* const target = out + y * width + (box.flip ? width - 1 - x : x);
      target[0] = red * factor[0] + shift[0];
      target[plane] = green * factor[1] + shift[1];
      target[2 * plane] = blue * factor[2] + shift[2];
    }
  }
}

MOTET_BODY void resampler::weigh(isize from, isize to, axis& made) {
  if (made.from == from && made.to == to) return;
  made.from = from;
  made.to = to;
  made.of.clear();
  made.weights.clear();
  const double step = static_cast<double>(from) / static_cast<double>(to), support = std::max(1.0, step);
  for (isize i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * step;
    isize low = std::max(isize{0}, static_cast<isize>(std::floor(centre - support + 0.5)));
    isize high = std::min(from, static_cast<isize>(std::floor(centre + support + 0.5)));
    const auto weight = [&](isize at) {
      return std::max(0.0, 1 - std::fabs((static_cast<double>(at) + 0.5 - centre) / support));
    };
    while (low + 1 < high && weight(low) <= 0) ++low;
    while (low + 1 < high && weight(high - 1) <= 0) --high;
    double sum = 0;
    for (isize at = low; at < high; ++at) sum += weight(at);
    made.of.push_back({low, high - low, static_cast<isize>(made.weights.size())});
    for (isize at = low; at < high; ++at) made.weights.push_back(static_cast<float>(weight(at) / sum));
  }
}
#endif

}  // namespace motet
