// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/pictures/augment.hpp>

#include <algorithm>

using namespace motet;

TEST_CASE("captions that name a side are not mirrored") {
  for (const char* text : {"a red circle on the left", "RIGHT of it", "the top-left corner", "leftmost",
                           "turning clockwise", "a lefthand glove", "anticlockwise"}) {
    CAPTURE(text);
    CHECK(!caption_allows_flip(text));
  }
  for (const char* text : {"a red circle", "a bright light", "copyright", "", "cleft rock", "an upright box",
                           "...", "\xff\xfe left\xc3"}) {
    CAPTURE(text);
    CHECK(caption_allows_flip(text) == (std::string_view(text).find(" left") == std::string_view::npos));
  }
}

TEST_CASE("the middle square") {
  const crop_box wide = centre_crop(100, 60), tall = centre_crop(33, 64);
  CHECK(wide.x == 20);
  CHECK(wide.width == 60);
  CHECK(wide.height == 60);
  CHECK(tall.y == 15);
  CHECK(tall.width == 33);
  CHECK(!wide.flip);
}

TEST_CASE("crops stay inside and within what was asked") {
  const augment_config config{0.5f, 0.9f, 1.3f, true};
  motet::isize flips = 0;
  bool corners[4]{};
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const crop_box box = random_crop(config, 64, 64, i % 2 == 0, random_stream(1, i));
    REQUIRE(box.x >= 0);
    REQUIRE(box.y >= 0);
    REQUIRE(box.x + box.width <= 64);
    REQUIRE(box.y + box.height <= 64);
    const double share = static_cast<double>(box.width * box.height) / 4096,
                 aspect = static_cast<double>(box.width) / static_cast<double>(box.height);
    REQUIRE(share > 0.45);
    REQUIRE(share < 0.95);
    REQUIRE(aspect < 1.37);
    REQUIRE(aspect > 1 / 1.37);
    if (box.flip) {
      ++flips;
      REQUIRE(i % 2 == 0);
    }
    if (box.x == 0) corners[0] = true;
    if (box.y == 0) corners[1] = true;
    if (box.x + box.width == 64) corners[2] = true;
    if (box.y + box.height == 64) corners[3] = true;
  }
  CHECK(std::all_of(corners, corners + 4, [](bool each) { return each; }));
  CHECK(flips > 880);
  CHECK(flips < 1120);
}

TEST_CASE("pictures of one pixel and of one line") {
  for (std::uint64_t i = 0; i < 50; ++i) {
    const crop_box dot = random_crop({}, 1, 1, true, random_stream(1, i)),
                   line = random_crop({}, 200, 1, true, random_stream(1, i));
    CHECK(dot.width == 1);
    CHECK(dot.height == 1);
    CHECK(line.height == 1);
    CHECK(line.x + line.width <= 200);
  }
}

TEST_CASE("options out of range") {
  CHECK_THROWS_AS(check(augment_config{0, 1, 1.1f, true}), error);
  CHECK_THROWS_AS(check(augment_config{0.9f, 0.5f, 1.1f, true}), error);
  CHECK_THROWS_AS(check(augment_config{0.5f, 1.5f, 1.1f, true}), error);
  CHECK_THROWS_AS(check(augment_config{0.5f, 1, 0.9f, true}), error);
  CHECK_THROWS_AS(check(augment_config{std::numeric_limits<float>::quiet_NaN(), 1, 1, true}), error);
}
