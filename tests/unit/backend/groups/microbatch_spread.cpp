// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/groups/microbatch_spread.hpp>

#include <doctest/doctest.h>

TEST_CASE("a new spread is a rank by itself, with all rows") {
  const motet::microbatch_spread is;
  CHECK(is.tensor.alone());
  CHECK(is.context.alone());
  CHECK(is.cut.rows_of(9, 0) == 9);
  CHECK(is.ends == nullptr);
  CHECK(is.whole.rows() == 0);
}
