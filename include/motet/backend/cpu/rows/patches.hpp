// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/nn/core/operations.hpp>
#include <motet/tensor/packed_pictures.hpp>

#include <cassert>

namespace motet::cpu {
namespace detail {

// Row y of a packed picture that is resized to what the model sees of it, as put(x, numbers of all channels)
// gets it.
template <class Put>
void resized_row(const packed_pictures& from, isize sample, isize channels_of_pixel, isize seen_height,
                 isize seen_width, isize y, Put&& put) {
  const packed_picture& own = from.each[sample];
  const auto channels = static_cast<std::int32_t>(channels_of_pixel),
             height = static_cast<std::int32_t>(seen_height), width = static_cast<std::int32_t>(seen_width),
             length = own.width * channels;
  const resize_axis rows{own.height, height}, columns{own.width, width};
  const resize_axis::taps down = rows.at(static_cast<std::int32_t>(y));
  std::int32_t line[packed_pictures::most_line];
  for (std::int32_t t = 0; t < down.count; ++t) {
    const std::int32_t weight = rows.weight(down, t);
    const std::uint8_t* const source = from.of(sample) + static_cast<isize>(down.first + t) * own.pitch;
    if (t == 0) {
      for (std::int32_t i = 0; i < length; ++i) line[i] = weight * source[i];
    } else {
      for (std::int32_t i = 0; i < length; ++i) line[i] += weight * source[i];
    }
  }
  for (std::int32_t x = 0; x < width; ++x) {
    const resize_axis::taps across = columns.at(x);
    const float scale = 1 / (static_cast<float>(down.sum) * static_cast<float>(across.sum));
    float numbers[packed_pictures::most_channels] = {};
    for (std::int32_t c = 0; c < channels; ++c) {
      float sum = 0;
      for (std::int32_t t = 0; t < across.count; ++t)
        sum += static_cast<float>(columns.weight(across, t)) *
               static_cast<float>(line[(across.first + t) * channels + c]);
      numbers[c] = sum * scale * from.factor[c] + from.shift[c];
    }
    put(own.flip != 0 ? width - 1 - x : x, numbers);
  }
}

}  // namespace detail

// Row s of pixels is a picture (channels, side, side); rows of y are its patches (channels, patch, patch)
// from left to right, then down, so that a convolution with stride = patch becomes a linear layer on them.
template <class P, class Y>
void patches(context& ctx, const sequences& seq, const patch_geometry& geometry, matrix<P> pixels,
             matrix<Y> y) {
  ctx.note("patches", 0, bytes_in(pixels) + bytes_in(y));
  if (ctx.measuring()) return;
  const isize side = geometry.side, patch = geometry.patch, across = side / patch;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    if (seq.rows_of(s) == 0) continue;
    assert(seq.rows_of(s) == geometry.lead + across * across);
    isize r = seq.begin(s) + geometry.lead;
    clear_rows(y.slice(seq.begin(s), geometry.lead));
    for (isize down = 0; down < across; ++down)
      for (isize right = 0; right < across; ++right, ++r)
        for (isize channel = 0; channel < geometry.channels; ++channel) {
          const matrix<P> corner{pixels.row(s) + (channel * side + down * patch) * side + right * patch,
                                 patch, patch, side};
          convert_rows(corner, matrix<Y>{y.row(r) + channel * patch * patch, patch, patch, patch});
        }
  }
}

// Packed pictures are resized, mirrored and scaled on the way, each to the square or to a grid of its own.
// Takes no memory, as a dry run does not know what will come.
template <class Y>
void patches(context& ctx, const sequences& seq, const patch_geometry& geometry, const packed_pictures& from,
             matrix<Y> y) {
  const isize patch = geometry.patch, channels = geometry.channels;
  const double count =
      static_cast<double>((seq.rows() - seq.samples * geometry.lead) * channels * patch * patch);
  ctx.note("patches", 2 * count, count + bytes_in(y));
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    if (seq.rows_of(s) == 0) continue;
    const packed_picture& own_shape = from.each[s];
    const isize across = own_shape.rows > 0 ? own_shape.columns : geometry.side / patch,
                height = own_shape.rows > 0 ? own_shape.rows * patch : geometry.side, width = across * patch;
    assert(seq.rows_of(s) == geometry.lead + height / patch * across);
    const isize first = seq.begin(s) + geometry.lead;
    clear_rows(y.slice(seq.begin(s), geometry.lead));
    for (isize down = 0; down < height; ++down) {
      Y* const line = y.row(first + down / patch * across) + down % patch * patch;
      const auto put = [&](std::int32_t right, const float* numbers) {
        const std::int32_t which = right / static_cast<std::int32_t>(patch);  // quicker than with 64 bits
        Y* const to = line + which * y.stride + (right - which * patch);
        for (isize c = 0; c < channels; ++c) to[c * patch * patch] = static_cast<Y>(numbers[c]);
      };
      if (own_shape.pitch != 0) {
        detail::resized_row(from, s, channels, height, width, down, put);
        continue;
      }
      const auto* const planes = reinterpret_cast<const float*>(from.of(s)) + down * width;
      for (std::int32_t right = 0; right < static_cast<std::int32_t>(width); ++right) {
        float numbers[packed_pictures::most_channels] = {};
        for (isize c = 0; c < channels; ++c) numbers[c] = planes[c * height * width + right];
        put(right, numbers);
      }
    }
  }
}

}  // namespace motet::cpu
