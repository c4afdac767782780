// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/step_headers.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("modules are asked for by name or number") {
  const step_headers of{3, {"eye", "talk"}, {5, 0, 10, 20, 30, 40}, {1, 0, 2, 7, 8, 9}};
  CHECK_EQ(of.find("talk"), 1);
  CHECK_EQ(of.find("ear"), -1);
  CHECK_EQ(of.rows_of("eye", 2), 10);
  CHECK_EQ(of.rows_of("talk", 0), 20);
  CHECK_EQ(of.rows_of("ear", 0), 0);
  CHECK_EQ(of.work_of(1, 2), 9);
}
