// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/world/placing.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("jobs are put where most is free, or spread out") {
  const job_cluster cluster{"c", {{"a", 3, 4, 1}}};
  occupancy places(cluster, 5);
  places.give(0, 0, 1);
  CHECK(place_spread(places, 1, {0, 2, 2}));
  CHECK(places.pieces(1)[0].node == 1);
  CHECK(place_spread(places, 2, {0, 4, 4}));
  CHECK(places.pieces(2)[0].node == 2);
  CHECK_FALSE(place_spread(places, 3, {0, 4, 4}));
  const auto always = [](const allotment&) { return true; };
  CHECK(place_spread_or_relaxed(places, 3, {0, 4, 4}, always));
  REQUIRE(places.pieces(3).size() == 2);
  CHECK(places.pieces(3)[0].devices == 2);
  CHECK_FALSE(place_spread_or_relaxed(places, 4, {0, 2, 2}, always));
  CHECK_FALSE(place_spread_or_relaxed(places, 4, {0, 1, 1}, [](const allotment&) { return false; }));
}
