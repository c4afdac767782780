// SPDX-License-Identifier: Apache-2.0
#include <motet/data/pictures/picture_grid.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a picture becomes the patches that it has, or as many as it may") {
  const shape_limits most{8, 64};
  struct wanted {
    motet::isize width, height;
    picture_grid grid;
  };
  for (const wanted& each : {wanted{64, 64, {8, 8}},
                             {40, 96, {12, 5}},
                             {43, 44, {6, 5}},
                             {3, 2, {1, 1}},
                             {512, 8, {1, 64}},
                             {640, 640, {8, 8}},
                             {1600, 900, {6, 10}},
                             {6400, 100, {1, 64}},
                             {100, 6399, {63, 1}},
                             {70, 70, {8, 8}}}) {
    CAPTURE(each.width);
    const auto found = grid_within(most, each.width, each.height);
    REQUIRE(found.has_value());
    CHECK_EQ(found->rows, each.grid.rows);
    CHECK_EQ(found->columns, each.grid.columns);
  }
  CHECK_FALSE(grid_within(most, 6401, 100).has_value());
  CHECK_FALSE(grid_within(most, 1, 65).has_value());
  constexpr motet::isize huge = 2147483647;
  CHECK(grid_within(most, huge, huge) == picture_grid{8, 8});
}

TEST_CASE("any picture has one patch at least, as many as allowed at most, and nearly its proportion") {
  for (const motet::isize patches : {1, 2, 7, 96, 1024})
    for (motet::isize width = 1; width < 3000; width = width * 3 / 2 + 1)
      for (motet::isize height = 1; height < 3000; height = height * 4 / 3 + 1) {
        const auto found = grid_within({14, patches}, width, height);
        if (!found) {
          CHECK(std::max(width, height) > patches * std::min(width, height));
          continue;
        }
        CHECK((found->rows >= 1 && found->columns >= 1 && found->patches() <= patches));
        // What is shrunk could not be larger in both directions.
        const bool whole = width <= 14 * found->columns + 7 && height <= 14 * found->rows + 7;
        CHECK((whole || (found->rows + 1) * (found->columns + 1) > patches));
      }
}

TEST_CASE("limits that are none are refused") {
  CHECK_THROWS_AS(check(shape_limits{8, -1}), error);
  CHECK_THROWS_WITH_AS(check(shape_limits{0, 4}), doctest::Contains("4 patches of 0 x 0 pixels"), error);
  check(shape_limits{});
  CHECK_EQ(shape_limits{2, 3}.bytes(), 144);
}
