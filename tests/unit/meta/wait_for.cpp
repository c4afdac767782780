// SPDX-License-Identifier: Apache-2.0
#include <motet/meta/wait_for.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

TEST_CASE("all that is waited for has a name of its own") {
  std::set<std::string> names;
  for (int i = 0; i < motet::waits_for; ++i) names.insert(motet::name_of(static_cast<motet::wait_for>(i)));
  CHECK(names.size() == motet::waits_for);
  CHECK(names.count("") == 0);
  static_assert(static_cast<int>(motet::wait_for::weights) == motet::waits_for - 1);
}
