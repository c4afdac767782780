// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/groups/stream_lanes.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <utility>

using namespace motet;

namespace {

struct laned {
  static constexpr bool lanes_are_streams = true;
  std::int32_t now = 0;
  int met = 0;
  std::int32_t enter(std::int32_t lane) { return std::exchange(now, lane); }
  void meet_lanes() { ++met; }
  void tell(std::int32_t) {}
  void follow(std::int32_t) {}
};
struct of_one_lane {};

static_assert(stream_lanes<laned> && !stream_lanes<of_one_lane>);

}  // namespace

TEST_CASE("a body runs in its lane, which is left again, whatever happens") {
  laned end;
  CHECK(in_lane(end, 2, [&] { return end.now; }) == 2);
  CHECK(end.now == 0);
  CHECK_THROWS_AS(in_lane(end, 1, [&]() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  CHECK(end.now == 0);
  meet_lanes(end);
  CHECK(end.met == 1);
}

TEST_CASE("an end without lanes just does it") {
  of_one_lane end;
  CHECK(in_lane(end, 1, [] { return 3; }) == 3);
  meet_lanes(end);
}
