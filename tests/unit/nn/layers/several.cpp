// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/layers/several.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

namespace {
struct shots {
  int samples = 0;
};
}  // namespace

TEST_CASE("a sample has as many as the offsets say, or one") {
  const std::vector<motet::isize> offsets{0, 0, 2, 3};
  const several<shots> some{{3}, 3, offsets.data()}, one_each{{3}, 3, nullptr};
  CHECK_EQ(some.before(2), 2);
  CHECK_EQ(one_each.before(2), 2);
  CHECK_EQ(some.before(1), 0);
}
