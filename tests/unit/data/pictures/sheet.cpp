// SPDX-License-Identifier: Apache-2.0
#include <motet/data/pictures/sheet.hpp>

#include <motet/data/pictures/augment.hpp>

#include <doctest/doctest.h>

#include <limits>

using namespace motet;

TEST_CASE("pictures lie beside each other with white between and below") {
  const bitmap one{1, 2, {1, 2, 3, 4, 5, 6}}, other{2, 1, {7, 8, 9, 10, 11, 12}};
  CHECK(beside({}, one) == one);
  const bitmap both = beside(one, other);
  REQUIRE(both.width == 7);
  REQUIRE(both.height == 2);
  const auto at = [&](motet::isize x, motet::isize y) {
    return static_cast<int>(both.pixels[as_size(3 * (y * 7 + x))]);
  };
  CHECK(at(0, 0) == 1);
  CHECK(at(0, 1) == 4);
  CHECK(at(1, 0) == 255);
  CHECK(at(5, 0) == 7);
  CHECK(at(6, 0) == 10);
  CHECK(at(6, 1) == 255);
}

TEST_CASE("what a net draws is a picture again, whatever numbers it has") {
  // Red: black and white; green: beyond both ends; blue: the middle, and no number.
  const float planes[] = {-1, 1, -7, 7, 0, std::numeric_limits<float>::quiet_NaN()};
  resampler::colours scale;
  std::vector<float> square;
  for (int c = 0; c < 3; ++c) square.insert(square.end(), {planes[2 * c], planes[2 * c + 1], 0, 0});
  const bitmap made = shown(square.data(), 2, scale);
  CHECK(made.pixels[0] == 0);
  CHECK(made.pixels[3] == 255);
  CHECK(made.pixels[1] == 0);
  CHECK(made.pixels[4] == 255);
  CHECK(made.pixels[2] == 128);
  CHECK(made.pixels[5] == 0);
}

TEST_CASE("a picture that a net was shown comes back") {
  bitmap from{4, 4, {}};
  for (int i = 0; i < 48; ++i) from.pixels.push_back(static_cast<std::uint8_t>(5 * i));
  std::vector<float> planes(48);
  resampler()(from, centre_crop(4, 4), 4, {}, planes.data());
  CHECK(shown(planes.data(), 4) == from);
}
