// SPDX-License-Identifier: Apache-2.0
#include <motet/model/edge.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("an edge says its ends, and a loss whose it is") {
  using joint = edge<"eye", "talk">;
  CHECK_EQ(joint::from, "eye");
  CHECK_EQ(joint::to, "talk");
  CHECK_EQ(loss<int, "talk">::of[0], "talk");
  CHECK_EQ(edge_ends{}.from, 0);
}
