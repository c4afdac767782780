// SPDX-License-Identifier: Apache-2.0
#include <motet/format/tensors/tensor_slice.hpp>

#include <doctest/doctest.h>

using motet::interval;
using motet::isize;
using motet::rectangle;

static_assert(rectangle{{1, 3}, {2, 6}}.size() == 8);
static_assert(rectangle{{1, 1}, {2, 6}}.empty());
static_assert(motet::intersection(rectangle{{0, 4}, {0, 4}}, rectangle{{2, 6}, {3, 9}}).size() == 2);
static_assert(motet::intersection(rectangle{{0, 4}, {0, 4}}, rectangle{{2, 6}, {4, 9}}).empty());
static_assert(motet::holds(rectangle{{0, 4}, {0, 4}}, rectangle{{0, 4}, {3, 4}}));
static_assert(!motet::holds(rectangle{{0, 4}, {0, 4}}, rectangle{{0, 5}, {3, 4}}));
static_assert(!motet::holds(rectangle{{0, 4}, {0, 4}}, rectangle{{0, 4}, {-1, 4}}));

TEST_CASE("every tensor is a matrix of its last dimension") {
  const auto size = [](std::vector<isize> shape) {
    const rectangle all = motet::matrix_of(shape);
    return std::pair(all.rows.end, all.columns.end);
  };
  CHECK(size({}) == std::pair<isize, isize>(1, 1));
  CHECK(size({7}) == std::pair<isize, isize>(1, 7));
  CHECK(size({3, 7}) == std::pair<isize, isize>(3, 7));
  CHECK(size({2, 3, 7}) == std::pair<isize, isize>(6, 7));
  CHECK(size({INT64_MAX, INT64_MAX, 0}) == std::pair<isize, isize>(0, 0));
}

TEST_CASE("any run of a rectangle is at most three rectangles, in its order") {
  const std::vector<isize> shape{9, 11};
  for (isize rows = 1; rows <= 4; ++rows) {
    for (isize columns = 1; columns <= 4; ++columns) {
      const rectangle of{{2, 2 + rows}, {5, 5 + columns}};
      std::vector<float> numbers;  // each element's place in the tensor
      for (isize row = 2; row < 2 + rows; ++row) {
        for (isize column = 5; column < 5 + columns; ++column)
          numbers.push_back(static_cast<float>(row * 11 + column));
      }
      for (isize begin = 0; begin <= of.size(); ++begin) {
        for (isize end = begin; end <= of.size(); ++end) {
          std::vector<motet::saved_slice> out;
          motet::append_run<const float>(out, "a", shape, of, {begin, end}, numbers.data() + begin);
          CHECK(out.size() <= 3);
          isize at = begin;
          for (const auto& each : out) {
            CHECK(each.name == "a");
            CHECK(each.shape == shape);
            CHECK(each.data == numbers.data() + at);
            for (isize row = each.covers.rows.begin; row < each.covers.rows.end; ++row) {
              for (isize column = each.covers.columns.begin; column < each.covers.columns.end; ++column)
                CHECK(numbers[static_cast<std::size_t>(at++)] == static_cast<float>(row * 11 + column));
            }
          }
          CHECK(at == end);
        }
      }
    }
  }
}

TEST_CASE("a whole slice is all of it") {
  float numbers[6] = {};
  const motet::loaded_slice all = motet::whole_slice("a", {2, 3}, numbers);
  CHECK(all.covers.size() == 6);
  CHECK(all.data == numbers);
}
