// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/modulation.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the first row of each sample is its condition, and the others lie close without it") {
  float numbers[2 * 3 * 4] = {};
  numbers[12] = 1;
  const sequences seq{2, 3, nullptr};
  const matrix<float> first = conditions_of(view<float, 4>(numbers, 6), seq);
  CHECK(first.rows == 2);
  CHECK(first.width == 4);
  CHECK(first.row(0) == numbers);
  CHECK(*first.row(1) == 1);
  CHECK(behind_conditions(seq).rows() == 4);
  CHECK(behind_conditions(sequences{3, 1, nullptr}).rows() == 0);
}

TEST_CASE("what a condition tells is nothing at first") {
  const auto list = layer::parameters_of<modulation<4, 3>>();
  REQUIRE_EQ(list.size(), 2);
  CHECK(list[0].start.kind == fill::zeros);
  CHECK(list[0].rows == 12);
  CHECK(list[1].start.kind == fill::zeros);
}
