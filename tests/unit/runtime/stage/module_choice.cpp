// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/module_choice.hpp>

#include <doctest/doctest.h>

TEST_CASE("left alone, a module is cut evenly, kept, and whole on every rank") {
  const motet::module_choice usual;
  CHECK(usual.layers.empty());
  CHECK(usual.remade.empty());
  CHECK(usual.tensor == 1);
  CHECK(!usual.shard_optimizer);
  CHECK(!usual.shard_gradients);
  CHECK(!usual.shard_weights);
}
