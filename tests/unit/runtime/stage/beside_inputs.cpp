// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/beside_inputs.hpp>

#include <motet/runtime/stage/arranged_input.hpp>

#include "unit/runtime/small_hearing.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

using net = small_hearing<>::module_at<1>::net;
using traits = input_traits<net>;

}  // namespace

TEST_CASE("a part of the samples has their words and the counts of their rows") {
  const small_heard_text data(9, 4);
  const tokens_beside all = data.words();
  CHECK(traits::fits(all, 9));
  CHECK_FALSE(traits::fits(all, 8));
  CHECK_EQ(traits::unknown(all), "");
  auto room = traits::room(4);
  const tokens_beside some = traits::slice(all, 3, 4, room);
  CHECK_EQ(some.seq.samples, 4);
  CHECK_EQ(some.share, all.share);
  for (motet::isize s = 0; s < 4; ++s) {
    CHECK_EQ(some.rows_that_enter().rows_of(s), all.rows_that_enter().rows_of(3 + s));
    CHECK_EQ(some.seq.rows_of(s), all.seq.rows_of(3 + s));
  }
  CHECK_EQ(some.rows_that_enter().begin(0), 0);
  CHECK_EQ(some.ids, all.ids + all.seq.begin(3));
  std::vector<motet::isize> shape, of_part;
  traits::shape(all, shape);
  traits::shape(some, of_part);
  CHECK(shape != of_part);
  CHECK(traits::same(all, data.words()));
  CHECK_FALSE(traits::same(all, some));
}

TEST_CASE("a sample with more rows than the net says does not fit, and one without any does") {
  small_heard_text data(2, 4);
  data.rows = {0, 7, 7};
  CHECK_FALSE(traits::fits(data.words(), 2));
  data.rows = {0, 6, 6};
  CHECK(traits::fits(data.words(), 2));
  const tokens_beside largest = traits::largest(3);
  CHECK_EQ(largest.entering_count(), 18);
  CHECK_EQ(largest.seq.rows(), 18);
}

TEST_CASE("samples move with the counts of their rows, and back") {
  const small_heard_text data(4, 2);
  arranged_input<net> there, back;
  const tokens_beside& moved = there.of(data.words(), {2, 0, 3, 1});
  const motet::isize order[] = {2, 0, 3, 1};
  for (motet::isize k = 0; k < 4; ++k) {
    CHECK_EQ(moved.rows_that_enter().rows_of(k), data.words().rows_that_enter().rows_of(order[k]));
    CHECK_EQ(moved.seq.rows_of(k), data.words().seq.rows_of(order[k]));
  }
  const tokens_beside& again = back.of(moved, {1, 3, 0, 2});
  CHECK(std::equal(data.rows.begin(), data.rows.end(), again.row_offsets));
  CHECK(std::equal(data.ids.begin(), data.ids.end(), again.ids));
  CHECK(std::equal(data.targets.begin(), data.targets.end(), again.targets));
}
