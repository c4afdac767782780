// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/block.hpp>
#include <motet/backend/cuda/kernels/divisor.hpp>
#include <motet/backend/cuda/kernels/runs.hpp>
#include <motet/tensor/packed_pictures.hpp>
#include <motet/tensor/sequences.hpp>

namespace motet::cuda::detail {

// Packed pictures to patches. A block makes a line of patches: some rows of it at a time are averaged
// downwards into shared memory, sixteen bytes of a source row to a thread, exactly in whole numbers; then a
// thread for each pixel averages these to the right, scales and stores its channels. Of a picture that
// shrinks, neighbouring rows read the same bytes, the second time from the cache of the multiprocessor. Its
// memory does not depend on the pictures.
template <class Y>
struct packed_to_patches {
  static constexpr int most_threads = 256;
  static constexpr isize shared_bytes = packed_pictures::most_line * static_cast<isize>(sizeof(float));
  static constexpr int piece = 16;

  sequences seq;  // on the GPU
  packed_pictures from;
  std::int32_t side, channels, lead, lanes;  // lanes: threads for a row of the result
  divisor across, patch;                     // patches side by side; side of a patch
  matrix<Y> y;

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    float* const lines = self.template shared<float>(packed_pictures::most_line);
    const isize count = seq.samples * static_cast<isize>(across.value());
    for (isize number = self.block(); number < count; number += self.blocks()) {
      auto band = static_cast<std::uint32_t>(number);
      const isize sample = across.divide(band);
      if (seq.rows_of(sample) == 0) continue;
      const isize first = seq.begin(sample);
      if (band == 0) {
        for (isize i = self.thread(); i < lead * y.width; i += self.threads())
          y.row(first + i / y.width)[i % y.width] = Y(0.0f);
      }
      const target at{first + lead + static_cast<isize>(band * across.value()),
                      static_cast<std::int32_t>(band * patch.value())};
      const isize pixels = static_cast<isize>(patch.value()) * static_cast<isize>(patch.value()) * channels,
                  more = y.width - pixels;
      for (isize i = self.thread(); i < more * static_cast<isize>(across.value()); i += self.threads())
        y.row(at.row + i / more)[pixels + i % more] = Y(0.0f);
      const packed_picture own = from.each[sample];
      if (own.pitch == 0) copy(self, reinterpret_cast<const float*>(from.of(sample)), at);
      else resize(self, from.of(sample), own, at, lines);
    }
  }

 private:
  struct target {
    isize row;         // of y, its first patch
    std::int32_t top;  // row of the result
  };
  // Number `value` of the result at (at.top + down, x).
  MOTET_HOST_DEVICE void put(const target& at, std::int32_t down, std::int32_t x, std::int32_t channel,
                             float value) const {
    auto inside = static_cast<std::uint32_t>(x);
    const isize right = patch.divide(inside), wide = static_cast<isize>(patch.value());
    y.row(at.row + right)[(channel * wide + down) * wide + static_cast<isize>(inside)] = stored_as<Y>(value);
  }

  template <class Thread>
  MOTET_HOST_DEVICE void copy(Thread& self, const float* planes, const target& at) const {
    const std::int32_t groups = self.threads() / lanes, group = self.thread() / lanes;
    if (group >= groups) return;
    for (std::int32_t x = self.thread() - group * lanes; x < side; x += lanes)
      for (std::int32_t down = group; down < static_cast<std::int32_t>(patch.value()); down += groups)
        for (std::int32_t c = 0; c < channels; ++c)
          put(at, down, x, c, planes[(static_cast<isize>(c) * side + at.top + down) * side + x]);
  }

  template <class Thread>
  MOTET_HOST_DEVICE void resize(Thread& self, const std::uint8_t* source, const packed_picture& own,
                                const target& at, float* lines) const {
    const resize_axis rows{own.height, side}, columns{own.width, side};
    const auto high = static_cast<std::int32_t>(patch.value());
    const std::int32_t length = own.width * channels, pieces = (length + piece - 1) / piece,
                       stride = pieces * piece;
    const std::int32_t most = static_cast<std::int32_t>(packed_pictures::most_line) / stride,
                       at_once = most < high ? most : high;
    const bool aligned =
        (reinterpret_cast<std::uintptr_t>(source) | static_cast<std::uintptr_t>(own.pitch)) % piece == 0;
    for (std::int32_t begin = 0; begin < high; begin += at_once) {
      const std::int32_t count = high - begin < at_once ? high - begin : at_once;
      self.barrier();  // the lines may still be read
      if (aligned) {
        for (std::int32_t i = self.thread(); i < count * pieces; i += self.threads()) {
          const std::int32_t down = i / pieces, column = (i - down * pieces) * piece;
          average(rows, at.top + begin + down, source + column, own.pitch, lines + down * stride + column);
        }
      } else {
        for (std::int32_t i = self.thread(); i < count * length; i += self.threads()) {
          const std::int32_t down = i / length, column = i - down * length;
          lines[down * stride + column] =
              average_one(rows, at.top + begin + down, source + column, own.pitch);
        }
      }
      self.barrier();
      across_lines(self, columns, own.flip != 0, at, begin, count, lines, stride);
    }
  }

  // Sixteen neighbours of the rows that make row `to`.
  MOTET_HOST_DEVICE static void average(const resize_axis& rows, std::int32_t to, const std::uint8_t* source,
                                        std::int32_t pitch, float* line) {
    const resize_axis::taps taps = rows.at(to);
    source += static_cast<isize>(taps.first) * pitch;
    std::int32_t sums[piece] = {};
    for (std::int32_t t = 0; t < taps.count; t += 2, source += 2 * static_cast<isize>(pitch)) {
      // Two rows are under way at a time; the last one counts nothing the second time.
      const bool second = t + 1 < taps.count;
      const auto upper = load_pack(source), lower = load_pack(second ? source + pitch : source);
      const std::int32_t one = rows.weight(taps, t), two = second ? rows.weight(taps, t + 1) : 0;
      MOTET_UNROLLED
      for (int k = 0; k < piece; ++k) sums[k] += one * upper.of[k] + two * lower.of[k];
    }
    const float scale = 1 / static_cast<float>(taps.sum);
    MOTET_UNROLLED
    for (int k = 0; k < piece; k += 4) {
      pack<float> made;
      MOTET_UNROLLED
      for (int j = 0; j < 4; ++j) made.of[j] = static_cast<float>(sums[k + j]) * scale;
      // of the block: store_pack stores to the GPU's memory
      *reinterpret_cast<pack<float>*>(line + k) = made;
    }
  }

  MOTET_HOST_DEVICE static float average_one(const resize_axis& rows, std::int32_t to,
                                             const std::uint8_t* source, std::int32_t pitch) {
    const resize_axis::taps taps = rows.at(to);
    source += static_cast<isize>(taps.first) * pitch;
    std::int32_t sum = 0;
    for (std::int32_t t = 0; t < taps.count; ++t, source += pitch) sum += rows.weight(taps, t) * *source;
    return static_cast<float>(sum) / static_cast<float>(taps.sum);
  }

  template <class Thread>
  MOTET_HOST_DEVICE void across_lines(Thread& self, const resize_axis& columns, bool flip, const target& at,
                                      std::int32_t begin, std::int32_t count, const float* lines,
                                      std::int32_t stride) const {
    constexpr int most = static_cast<int>(packed_pictures::most_channels);
    const std::int32_t groups = self.threads() / lanes, group = self.thread() / lanes;
    if (group >= groups) return;
    for (std::int32_t x = self.thread() - group * lanes; x < side; x += lanes) {
      const resize_axis::taps taps = columns.at(x);
      const float scale = 1 / static_cast<float>(taps.sum);
      const std::int32_t to = flip ? side - 1 - x : x;
      for (std::int32_t down = group; down < count; down += groups) {
        const float* pixel = lines + down * stride + taps.first * channels;
        float sums[most] = {};
        for (std::int32_t t = 0; t < taps.count; ++t, pixel += channels) {
          const auto weight = static_cast<float>(columns.weight(taps, t));
          MOTET_UNROLLED
          for (int c = 0; c < most; ++c)
            if (c < channels) sums[c] += weight * pixel[c];
        }
        MOTET_UNROLLED
        for (int c = 0; c < most; ++c)
          if (c < channels) put(at, begin + down, to, c, sums[c] * scale * from.factor[c] + from.shift[c]);
      }
    }
  }
};

}  // namespace motet::cuda::detail
