// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/search_result.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace motet;

TEST_CASE("every setback has a name of its own") {
  std::set<std::string> names;
  for (const setback each : {setback::none, setback::work, setback::bubbles, setback::uneven_towers,
                             setback::reductions, setback::exchange, setback::memory, setback::more_ranks})
    names.insert(std::string(name_of(each)));
  CHECK(names.size() == 8);
  CHECK(name_of(setback::uneven_towers) == "uneven towers");
  CHECK(name_of(setback::more_ranks) == "more ranks");
}

TEST_CASE("a pin that says nothing leaves everything open") {
  const tower_pin nothing;
  CHECK(nothing.stash == -2);  // -1 would be: all are kept
  CHECK(nothing.recompute == -1);
  CHECK(nothing.zero == -1);
  CHECK(nothing == tower_pin{.name = ""});
}
