// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/front/feed/local_producers.hpp>

#include "laws/free_port.hpp"

using namespace motet;

namespace {

// A producer of one line, which is left alone as soon as whoever started it is gone.
local_producers_options waiters(motet::isize count) {
  return {count, {"/bin/sh", "-c", "test \"$MOTET_TOKEN\" = right || exit 3; cat"}, "right"};
}
bool lives(pid_t process) { return process > 0 && ::kill(process, 0) == 0; }

}  // namespace

TEST_CASE("producers listen at addresses of their own, are begun again when they end, and end with this") {
  std::vector<pid_t> first, second;
  {
    const local_producers all(waiters(2));
    const std::vector<producer_address> at = all.addresses();
    REQUIRE(at.size() == 2);
    CHECK(at[0].port != at[1].port);
    for (const producer_address& each : at)
      CHECK(tcp::reach(tcp::address_of(each.host, each.port), tcp::deadline(20)));
    first = all.processes();
    REQUIRE(lives(first[0]));
    REQUIRE(lives(first[1]));
    ::kill(first[0], SIGKILL);
    for (const tcp::deadline until(60); !until.over();) {
      second = all.processes();
      if (second[0] > 0 && second[0] != first[0]) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK(second[0] != first[0]);
    CHECK(lives(second[0]));
    CHECK(second[1] == first[1]);
    CHECK(all.addresses()[0].port == at[0].port);
  }
  CHECK_FALSE(lives(second[0]));
  CHECK_FALSE(lives(second[1]));
}

TEST_CASE("what cannot be started is told") {
  CHECK_THROWS_WITH_AS(local_producers({1, {"/nowhere/produce"}, "token"}),
                       doctest::Contains("processes that produce: No such file"), error);
}
