// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/plan_choices.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("what a plan says of its modules") {
  plan all;
  all.modules.push(on_ranks("a", 0, {.stages = 2, .context = 3, .tensor = 4}));
  all.modules.push(on_ranks("b", 0, {.data = 2}));
  all.modules[0].layers = {3, 1};
  all.modules[0].remade = {0, 1};
  all.modules[0].balanced = false;
  all.modules[0].pieces = 3;
  all.modules[1].zero = 1;
  const std::vector<module_choice> found = choices_of(all);
  REQUIRE(found.size() == 2);
  CHECK(found[0].layers == std::vector<motet::isize>{3, 1});
  CHECK(found[0].remade == std::vector<std::uint8_t>{0, 1});
  CHECK(found[0].tensor == 4);
  CHECK(found[0].pieces == 3);
  CHECK(found[1].pieces == 1);
  all.modules[1].pieces = 0;
  CHECK(choices_of(all)[1].pieces == 1);
  CHECK(!found[0].balanced);
  CHECK(!found[0].shard_optimizer);
  CHECK(found[1].layers.empty());
  CHECK(found[1].tensor == 1);
  CHECK(found[1].shard_optimizer);
  for (const int zero : {1, 2, 3}) {
    all.modules[1].zero = zero;
    const module_choice own = choices_of(all)[1];
    CHECK((own.shard_optimizer && own.shard_gradients == (zero > 1) && own.shard_weights == (zero > 2)));
  }
}
