// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/pictures/resize.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

namespace {
const resampler::colours plain{{0, 0, 0}, {1.0f / 255, 1.0f / 255, 1.0f / 255}};  // values stay 0..255

std::vector<float> resized(const bitmap& from, const crop_box& box, motet::isize side,
                           const resampler::colours& scale = plain) {
  std::vector<float> out(static_cast<std::size_t>(3 * side * side), -1);
  resampler work;
  work(from, box, side, scale, out.data());
  return out;
}

// The definition, pixel by pixel in double.
double expected(const bitmap& from, const crop_box& box, motet::isize side, motet::isize channel,
                motet::isize y, motet::isize x) {
  const auto weight = [](double at, double step) {
    return std::max(0.0, 1 - std::fabs(at) / std::max(1.0, step));
  };
  const double down = static_cast<double>(box.height) / static_cast<double>(side),
               across = static_cast<double>(box.width) / static_cast<double>(side);
  double sum = 0, total = 0;
  for (motet::isize r = 0; r < box.height; ++r) {
    for (motet::isize c = 0; c < box.width; ++c) {
      const double w = weight(static_cast<double>(r) + 0.5 - (static_cast<double>(y) + 0.5) * down, down) *
                       weight(static_cast<double>(c) + 0.5 - (static_cast<double>(x) + 0.5) * across, across);
      sum += w * from.pixels[static_cast<std::size_t>(((box.y + r) * from.width + box.x + c) * 3 + channel)];
      total += w;
    }
  }
  return sum / total;
}
}  // namespace

TEST_CASE("the whole picture at its own size is itself, as planes") {
  const bitmap made = noise_picture(6, 6, 1);
  const auto out = resized(made, {0, 0, 6, 6, false}, 6);
  for (motet::isize c = 0; c < 3; ++c) {
    for (motet::isize i = 0; i < 36; ++i)
      CHECK(out[static_cast<std::size_t>(c * 36 + i)] ==
            doctest::Approx(made.pixels[static_cast<std::size_t>(i * 3 + c)]).epsilon(1e-5));
  }
}

TEST_CASE("shrinking averages, growing interpolates, as the definition says") {
  const bitmap made = noise_picture(23, 17, 2);
  for (const crop_box& box : {crop_box{0, 0, 23, 17, false}, crop_box{3, 2, 11, 13, false},
                              crop_box{5, 5, 2, 3, false}, crop_box{22, 16, 1, 1, false}}) {
    for (const motet::isize side : {1, 5, 8, 30}) {
      const auto out = resized(made, box, side);
      for (motet::isize i = 0; i < 3 * side * side; ++i)
        REQUIRE(out[static_cast<std::size_t>(i)] ==
                doctest::Approx(expected(made, box, side, i / (side * side), i / side % side, i % side))
                    .epsilon(1e-4));
    }
  }
}

TEST_CASE("flip mirrors, colours are scaled") {
  const bitmap made = noise_picture(8, 8, 3);
  const resampler::colours scale{{0.5f, 0.25f, 0}, {0.5f, 2, 1}};
  const auto straight = resized(made, {0, 0, 8, 8, false}, 4),
             mirrored = resized(made, {0, 0, 8, 8, true}, 4, scale);
  for (motet::isize c = 0; c < 3; ++c) {
    for (motet::isize y = 0; y < 4; ++y) {
      for (motet::isize x = 0; x < 4; ++x) {
        const float value = straight[static_cast<std::size_t>(c * 16 + y * 4 + 3 - x)] / 255;
        CHECK(mirrored[static_cast<std::size_t>(c * 16 + y * 4 + x)] ==
              doctest::Approx((value - scale.mean[c]) / scale.deviation[c]).epsilon(1e-4));
      }
    }
  }
}
