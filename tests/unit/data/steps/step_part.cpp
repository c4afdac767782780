// SPDX-License-Identifier: Apache-2.0
#include <motet/data/steps/step_part.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a part has its intervals, and a whole step has all samples") {
  const step_part all, two{{{1, 3}, {5, 6}}, [](bool here) { return here; }}, none{{}, two.any};
  CHECK(all.is_whole());
  CHECK(all.has(7));
  CHECK_FALSE(two.is_whole());
  CHECK_FALSE(none.is_whole());
  for (motet::isize s = 0; s < 8; ++s) {
    CHECK_EQ(two.has(s), s == 1 || s == 2 || s == 5);
    CHECK_FALSE(none.has(s));
  }
}
