// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/held_out/drawing_test.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Pictures of 2 x 2 in one colour each, with as much added to one half as is taken from the other.
std::vector<float> pictures_of(std::initializer_list<std::array<float, 3>> colours, float apart = 0) {
  std::vector<float> out;
  for (const auto& colour : colours)
    for (const float light : colour)
      out.insert(out.end(), {light + apart, light - apart, light + apart, light - apart});
  return out;
}
constexpr std::array<float, 3> red{1, -1, -1}, green{-1, 1, -1}, blue{-1, -1, 1}, pale{0.6f, -0.8f, -0.8f};

}  // namespace

TEST_CASE("drawings of the right colours are nearer to their own pictures than to others") {
  const auto wanted = pictures_of({red, green, blue});
  const drawing_result right = compare_colours(pictures_of({pale, green, blue}, 0.3f), wanted, 3);
  CHECK(right.pictures == 3);
  CHECK(right.nearer == std::vector<motet::isize>{2, 2, 2});
  CHECK(right.share() == 1);
  const drawing_result wrong = compare_colours(pictures_of({green, blue, red}), wanted, 3);
  CHECK(wrong.nearer == std::vector<motet::isize>{0, 0, 0});
  CHECK(wrong.share() == 0);
  CHECK(compare_colours(pictures_of({green, pale, blue}), wanted, 3).share() == doctest::Approx(2 / 6.0));
}

TEST_CASE("grey is as near to the one as to the other, over all") {
  CHECK(compare_colours(pictures_of({{0, 0, 0}, {0, 0, 0}}), pictures_of({red, pale}), 2).share() == 0.5);
}

TEST_CASE("where there is nothing to compare, chance is told") {
  CHECK(compare_colours({}, {}, 0).share() == 0.5);
  CHECK(compare_colours(pictures_of({red}), pictures_of({blue}), 1).share() == 0.5);
}
