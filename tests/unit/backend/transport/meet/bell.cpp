// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/transport/meet/bell.hpp>

#include <thread>

using namespace motet;

TEST_CASE("a bell that was rung once or often is heard once, by whoever waits") {
  const meet::bell one;
  pollfd watched = one.watched();
  CHECK(::poll(&watched, 1, 0) == 0);
  std::thread other([&] { one.ring(), one.ring(); });
  CHECK(::poll(&watched, 1, 5000) == 1);
  other.join();
  one.quiet();
  CHECK(::poll(&watched, 1, 0) == 0);
  one.quiet();
}
