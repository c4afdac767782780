// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/groups/rendezvous_options.hpp>

#include <doctest/doctest.h>

TEST_CASE("who says nothing meets alone, where nobody else can come") {
  const motet::rendezvous_options alone;
  CHECK(alone.ranks == 1);
  CHECK(alone.address == "127.0.0.1");
  CHECK(alone.token.empty());
}
