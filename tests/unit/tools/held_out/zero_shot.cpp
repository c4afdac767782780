// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/held_out/zero_shot.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the nearest caption is the guess, and classes are counted") {
  const float captions[] = {1, 0, 0, 1, -1, 0};
  const float pictures[] = {0.9f, 0.1f, -0.2f, 0.8f, 0.6f, 0.5f, -0.3f, -0.9f};
  const zero_shot_result found = zero_shot<float>({pictures, 4, 2, 2}, {captions, 3, 2, 2}, {0, 1, 1, 2});
  CHECK(found.guess == std::vector<motet::isize>{0, 1, 0, 2});
  CHECK(found.right == 3);
  CHECK(found.accuracy() == doctest::Approx(0.75));
  CHECK(found.of_class == std::vector<motet::isize>{1, 2, 1});
  CHECK(found.right_class == std::vector<motet::isize>{1, 1, 1});
}

TEST_CASE("equal captions: the first; no pictures: nothing right") {
  const float one[] = {1, 0, 1, 0};
  CHECK(zero_shot<float>({one, 1, 2, 2}, {one, 2, 2, 2}, {1}).right == 0);
  CHECK(zero_shot<float>({one, 0, 2, 2}, {one, 2, 2, 2}, {}).accuracy() == 0);
}
