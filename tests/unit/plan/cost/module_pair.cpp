// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/module_pair.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

list<module_pair> measured() {
  module_pair two{"eye", "talk", 8, {}};
  for (const pair_point& each : {pair_point{.5, 2, 2, 1.2, 1.3}, {.75, 3, 1, 1.1, 2}, {.25, 1, 3, 1.6, 1.05}})
    add_point(two, each);
  list<module_pair> all;
  all.push(two);
  return all;
}

}  // namespace

TEST_CASE("points of a pair keep their order, and a share measured anew replaces the old one") {
  module_pair of = measured()[0];
  REQUIRE(of.points.size() == 3);
  for (motet::isize i = 0; i < 3; ++i) CHECK(of.points[i].share == .25 * static_cast<double>(i + 1));
  add_point(of, {.5, 2, 2, 7, 8});
  REQUIRE(of.points.size() == 3);
  CHECK(of.points[1].first == 7);
}

TEST_CASE("a module is slowed by the other as measured, from both sides") {
  const list<module_pair> in = measured();
  CHECK(slowdown_beside(in, "eye", "talk", .5) == 1.2);
  CHECK(slowdown_beside(in, "talk", "eye", .5) == 1.3);
  // The second has a quarter where the first has three.
  CHECK(slowdown_beside(in, "talk", "eye", .25) == 2);
  CHECK(slowdown_beside(in, "eye", "talk", .375) == doctest::Approx(1.4));
  CHECK(slowdown_beside(in, "talk", "eye", .375) == doctest::Approx(1.65));
  // Beyond the points it is as at the last one.
  CHECK(slowdown_beside(in, "eye", "talk", .1) == 1.6);
  CHECK(slowdown_beside(in, "eye", "talk", .9) == 1.1);
}

TEST_CASE("what was not measured is not slowed") {
  CHECK(slowdown_beside(measured(), "eye", "draw", .5) == 1);
  CHECK(slowdown_beside({}, "eye", "talk", .5) == 1);
  list<module_pair> empty;
  empty.push({"eye", "talk", 8, {}});
  CHECK(slowdown_beside(empty, "eye", "talk", .5) == 1);
  CHECK(find_pair(measured(), "talk", "eye") != nullptr);
  CHECK(find_pair(measured(), "talk", "draw") == nullptr);
}
