// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/own_schedule.hpp>

#include "unit/plan/last_first.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE(
    "a schedule of a program's own is a value with its check and its order, one of the library's is none") {
  constexpr own_schedule mine = own_schedule_of<last_first<>>();
  static_assert(mine && mine == own_schedule_of<last_first<>>());
  static_assert(!own_schedule_of<gpipe>() && !own_schedule_of<batch_sync>() && !own_schedule{});
  static_assert(!(mine == own_schedule_of<last_first<flaw::ranks>>()));
  static_assert(mine.check({.stages = 2, .microbatches = 3, .chunks = 1}).ok());
  CHECK_FALSE(mine.check({.stages = 0, .microbatches = 3, .chunks = 1}).ok());
  constexpr named_schedule named = last_first<>{};
  static_assert(named.name == label("last_first") && named.of == mine);
  CHECK(mine.write({.stages = 2, .microbatches = 3}).codes() == last_first<>::write({2, 3}).codes());
}
