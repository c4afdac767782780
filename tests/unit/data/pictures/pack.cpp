// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/pictures/pack.hpp>

#include <unit/data/pairs.hpp>

using namespace motet;

TEST_CASE("the box is cut out, its rows begin at multiples of 16 bytes, what is between them is zero") {
  const bitmap shot = noise_picture(12, 9, 1);
  std::vector<std::uint8_t> room(static_cast<std::size_t>(packed_room(8)), 0xee);
  resampler resize;
  packed_picture made;
  made.at = 5;
  CHECK(pack_picture(shot, {3, 2, 7, 6, true}, 8, {}, resize, room.data(), made) == 6 * 32);
  CHECK(made.at == 5);
  CHECK(made.pitch == 32);
  CHECK(made.width == 7);
  CHECK(made.height == 6);
  CHECK(made.flip == 1);
  for (motet::isize y = 0; y < 6; ++y)
    for (motet::isize i = 0; i < 32; ++i) {
      const int want = i < 21 ? shot.pixels[static_cast<std::size_t>(((y + 2) * 12 + 3) * 3 + i)] : 0;
      REQUIRE(room[static_cast<std::size_t>(y * 32 + i)] == want);
    }
  CHECK(room[6 * 32] == 0xee);
}

TEST_CASE("a box that floats are smaller than comes as floats") {
  const bitmap shot = noise_picture(12, 12, 2);
  resampler resize;
  resampler::colours colours;
  colours.mean[1] = 0.3f;
  std::vector<float> want(3 * 16), got(3 * 16);
  const crop_box box{1, 0, 11, 12, true};
  resize(shot, box, 4, colours, want.data());
  packed_picture made;
  CHECK(pack_picture(shot, box, 4, colours, resize, reinterpret_cast<std::uint8_t*>(got.data()), made) ==
        4 * 3 * 16);
  CHECK(made.pitch == 0);
  CHECK(got == want);
}

TEST_CASE("colours are scaled as the resampler scales them") {
  resampler::colours colours{{0.1f, 0.2f, 0.3f}, {0.5f, 0.6f, 0.7f}};
  packed_pictures of;
  set_colours(colours, of);
  CHECK(of.factor[2] == 1 / (255 * 0.7f));
  CHECK(of.shift[0] == -0.1f / 0.5f);
}
