// SPDX-License-Identifier: Apache-2.0
#include <motet/run/session.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("random captions are as long as any, whatever a sample may hold") {
  session_facts facts;
  facts.shape = {.model = "speaks", .image = 8, .vocabulary = 300, .context = 160, .pieces = true};
  facts.caption = 32;
  CHECK(facts.random_shape().context == 32);
  CHECK(facts.random_shape().image == 8);
  CHECK(facts.shape.context == 160);
}
