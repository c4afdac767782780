// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

namespace motet {

namespace detail {

// Fourier transforms of many sequences of Size complex numbers at once, side by side, in steps of the small
// factors of Size (Stockham's order: nothing is turned around at the end).
template <isize Size, isize Lanes>
class fourier {
 public:
  struct numbers {
    std::array<std::array<double, as_size(Lanes)>, as_size(Size)> real, imaginary;
  };

  fourier() {
    for (isize k = 0; k < Size; ++k) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(Size);
      cosines_[as_size(k)] = std::cos(angle);
      sines_[as_size(k)] = std::sin(angle);
    }
  }

  // The transform lies in the numbers that are returned, one of both.
  numbers& operator()(numbers& x, numbers& room) const {
    numbers *from = &x, *to = &room;
    isize left = Size, stride = 1;
    for (const isize factor : {isize{4}, isize{2}, isize{3}, isize{5}})
      while (left % factor == 0) {
        step(*from, *to, factor, left, stride);
        left /= factor;
        stride *= factor;
        std::swap(from, to);
      }
    return *from;
  }

 private:
  static constexpr bool is_known(isize left) {
    for (const isize factor : {2, 3, 5})
      while (left % factor == 0) left /= factor;
    return left == 1;
  }
  static_assert(is_known(Size), "a transform takes steps of 2, 3, 4 and 5");

  void step(const numbers& from, numbers& to, isize factor, isize left, isize stride) const {
    const isize parts = left / factor;
    for (isize p = 0; p < parts; ++p)
      for (isize j = 0; j < factor; ++j)
        for (isize q = 0; q < stride; ++q) {
          std::array<double, as_size(Lanes)> sum{}, sum_imaginary{};
          for (isize k = 0; k < factor; ++k) {
            // exp(-2 pi i (j k / factor + j p / left))
            const isize turn = (j * k * (Size / factor) + j * p * stride) % Size;
            const double cosine = cosines_[as_size(turn)], sine = sines_[as_size(turn)];
            const auto &a = from.real[as_size(q + stride * (p + parts * k))],
                       &b = from.imaginary[as_size(q + stride * (p + parts * k))];
            for (std::size_t lane = 0; lane < as_size(Lanes); ++lane) {
              sum[lane] += a[lane] * cosine - b[lane] * sine;
              sum_imaginary[lane] += a[lane] * sine + b[lane] * cosine;
            }
          }
          to.real[as_size(q + stride * (factor * p + j))] = sum;
          to.imaginary[as_size(q + stride * (factor * p + j))] = sum_imaginary;
        }
  }

  std::array<double, as_size(Size)> cosines_, sines_;
};

}  // namespace detail

// What Whisper hears of a sound: the logarithms of its power in bins on the mel scale, in frames 10 ms apart.
// Asks for: numbers at 16,000 a second; longer sounds are cut behind the last frame, shorter ones end in
// silence.
// Memory: some rows of a frame's length, and the triangles of the mel scale.
// Errors: none of its own.
// Example:
//   std::vector<float> heard(std::span<const float> sound) {
//     std::vector<float> features(3000 * 80);  // (frames, bins)
//     log_mel(80, 3000).hear(sound, features.data());
//     return features;
//   }
class log_mel {
 public:
  static constexpr isize rate = 16000, hop = 160, window = 400;

  explicit log_mel(isize bins = 80, isize frames = 3000);

  isize bins() const { return bins_; }
  isize frames() const { return frames_; }

  // (frames, bins)
  void hear(std::span<const float> sound, float* features);

 private:
  static constexpr isize lines = window / 2 + 1, half = window / 2, lanes = 8;
  struct triangle {
    isize first = 0;
    std::vector<double> weights;
  };
  static constexpr double knee = 1000, knee_mel = 15;  // straight below, logarithmic above
  static double mel(double hertz) {
    return hertz < knee ? 3 * hertz / 200 : knee_mel + std::log(hertz / knee) * 27 / std::log(6.4);
  }
  static double hertz(double mel) {
    return mel < knee_mel ? 200 * mel / 3 : knee * std::exp(std::log(6.4) / 27 * (mel - knee_mel));
  }

  // power_[line][lane] of so many frames. A frame lies around its place; at either end the sound is mirrored.
  void power_of(std::span<const float> sound, isize first, isize count);

  isize bins_, frames_;
  std::array<double, as_size(window)> window_;
  std::array<std::array<double, 2>, as_size(lines)> turns_;  // what half a transform is turned by
  std::vector<triangle> triangles_;
  detail::fourier<half, lanes> transform_;
  detail::fourier<half, lanes>::numbers x_, room_;
  std::array<std::array<double, as_size(lanes)>, as_size(lines)> power_;
};

#if !defined(MOTET_COMPILED_DATA)
MOTET_BODY log_mel::log_mel(isize bins, isize frames) : bins_(bins), frames_(frames) {
  for (isize i = 0; i < window; ++i)
    window_[as_size(i)] =
        0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(window));
  for (isize k = 0; k < lines; ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(window);
    turns_[as_size(k)] = {std::cos(angle), std::sin(angle)};
  }
  // Slaney's triangles: each rises from the centre before it to its own, falls to the next, and has area 1.
  const auto centre = [&](isize k) {
    return hertz(mel(rate / 2) * static_cast<double>(k) / static_cast<double>(bins_ + 1));
  };
  for (isize bin = 0; bin < bins_; ++bin) {
    const double low = centre(bin), top = centre(bin + 1), high = centre(bin + 2);
    triangle made{0, {}};
    for (isize f = 0; f < lines; ++f) {
      const double at = static_cast<double>(f * rate) / window,
                   height = std::min((at - low) / (top - low), (high - at) / (high - top));
      if (height <= 0) continue;
      if (made.weights.empty()) made.first = f;
      made.weights.push_back(height * 2 / (high - low));
    }
    triangles_.push_back(std::move(made));
  }
}

MOTET_BODY void log_mel::hear(std::span<const float> sound, float* features) {
  const isize heard = std::min<isize>(static_cast<isize>(sound.size()), frames_ * hop);
  constexpr double least = 1e-10;
  // Frames that begin behind the sound's end are silent.
  const isize sounding = std::min(frames_, (heard + window / 2 + hop - 1) / hop);
  double loudest = std::log10(least);
  std::vector<double> logs(as_size(sounding * bins_));
  for (isize first = 0; first < sounding; first += lanes) {
    const isize count = std::min(lanes, sounding - first);
    power_of(sound.first(as_size(heard)), first, count);
    for (isize lane = 0; lane < count; ++lane)
      for (isize bin = 0; bin < bins_; ++bin) {
        const triangle& of = triangles_[as_size(bin)];
        double sum = 0;
        for (std::size_t k = 0; k < of.weights.size(); ++k)
          sum += of.weights[k] * power_[as_size(of.first) + k][as_size(lane)];
        const double log = std::log10(std::max(sum, least));
        logs[as_size((first + lane) * bins_ + bin)] = log;
        loudest = std::max(loudest, log);
      }
  }
  // Nothing is more than 80 dB below the loudest.
  const auto scaled = [&](double log) { return static_cast<float>((std::max(log, loudest - 8) + 4) / 4); };
  std::transform(logs.begin(), logs.end(), features, scaled);
  std::fill(features + sounding * bins_, features + frames_ * bins_, scaled(std::log10(least)));
}

MOTET_BODY void log_mel::power_of(std::span<const float> sound, isize first, isize count) {
  const isize end = frames_ * hop;
  for (isize n = 0; n < half; ++n)
    for (isize lane = 0; lane < lanes; ++lane) {
      const auto heard = [&](isize i) {
        isize at = (first + lane) * hop + i - window / 2;
        while (at < 0 || at >= end) at = at < 0 ? -at : 2 * (end - 1) - at;
        return lane < count && at < static_cast<isize>(sound.size())
                   ? window_[as_size(i)] * static_cast<double>(sound[as_size(at)])
                   : 0.0;
      };
      // A sequence of real numbers as one of half as many complex ones.
      x_.real[as_size(n)][as_size(lane)] = heard(2 * n);
      x_.imaginary[as_size(n)][as_size(lane)] = heard(2 * n + 1);
    }
  const auto& z = transform_(x_, room_);
  for (isize k = 0; k < lines; ++k) {
    const auto here = as_size(k % half), mirrored = as_size((half - k) % half);
    const auto [cosine, sine] = turns_[as_size(k)];
    for (std::size_t lane = 0; lane < as_size(lanes); ++lane) {
      const double even_real = (z.real[here][lane] + z.real[mirrored][lane]) / 2,
                   even_imaginary = (z.imaginary[here][lane] - z.imaginary[mirrored][lane]) / 2,
                   odd_real = (z.imaginary[here][lane] + z.imaginary[mirrored][lane]) / 2,
                   odd_imaginary = (z.real[mirrored][lane] - z.real[here][lane]) / 2;
      const double real = even_real + cosine * odd_real - sine * odd_imaginary,
                   imaginary = even_imaginary + cosine * odd_imaginary + sine * odd_real;
      power_[as_size(k)][lane] = real * real + imaginary * imaginary;
    }
  }
}
#endif

}  // namespace motet
