// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/tensor/cubic_axis.hpp>

namespace motet {

TEST_CASE("weights of a point's neighbours sum to one, and a grid's own points stay") {
  for (const cubic_axis axis : {cubic_axis{3, 5}, cubic_axis{5, 3}, cubic_axis{1, 4}, cubic_axis{24, 16}})
    for (isize i = 0; i < axis.to; ++i) {
      const auto found = axis.of(i);
      CHECK(found.weight[0] + found.weight[1] + found.weight[2] + found.weight[3] ==
            doctest::Approx(1).epsilon(1e-14));
      for (const isize at : found.at) CHECK((at >= 0 && at < axis.from));
    }
  const auto same = cubic_axis{7, 7}.of(4);
  CHECK(same.at[1] == 4);
  CHECK(same.weight[1] == 1);
}

TEST_CASE("between two points a quarter of the way counts as the formula says, with edges repeated") {
  constexpr auto found = cubic_axis{2, 4}.of(1);
  static_assert(found.at[0] == 0 && found.at[1] == 0 && found.at[2] == 1 && found.at[3] == 1);
  CHECK(found.weight[0] == -0.10546875);
  CHECK(found.weight[1] == 0.87890625);
  CHECK(found.weight[2] == 0.26171875);
  CHECK(found.weight[3] == -0.03515625);
}

TEST_CASE("from the other end all is mirrored") {
  for (const cubic_axis axis : {cubic_axis{3, 7}, cubic_axis{8, 5}})
    for (isize i = 0; i < axis.to; ++i) {
      const auto here = axis.of(i), there = axis.of(axis.to - 1 - i);
      for (isize t = 0; t < 4; ++t) {
        // Where both of two points are as near, either may be the first.
        if (here.weight[1] == 1 || there.weight[1] == 1) continue;
        CHECK(here.at[t] == axis.from - 1 - there.at[3 - t]);
        CHECK(here.weight[t] == doctest::Approx(there.weight[3 - t]).epsilon(1e-12));
      }
    }
}

}  // namespace motet
