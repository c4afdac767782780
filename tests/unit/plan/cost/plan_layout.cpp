// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cost/plan_layout.hpp>

#include "unit/plan/estimated_models.hpp"

using namespace motet;

TEST_CASE("groups of a tower whose stages are nodes") {
  // Two stages of a node each: two replicas of a tensor group of four.
  plan of{{16, 8}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.stages = 2, .data = 2, .tensor = 4}));
  const list<module_layout> found = plan_layouts(of, plain_cluster(2, 8));
  REQUIRE(found.size() == 1);
  for (std::int32_t d = 0; d < 2; ++d) {
    for (std::int32_t r = 0; r < 2; ++r) {
      CHECK(found[0].at(d, r).tensor == group_layout{1, 4, 1});
      CHECK(found[0].at(d, r).context == group_layout{1, 1, 1});
      CHECK(found[0].at(d, r).crossing == 8);  // messages of both replicas and all shards
    }
    CHECK(found[0].sums[d] == group_layout{1, 2, 1});
  }
}

TEST_CASE("groups of replicas that share experts, and of those that have the same") {
  plan of{{16, 4}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.data = 8, .context = 2}));
  of.modules[0].experts = 4;
  const list<module_layout> found = plan_layouts(of, plain_cluster(4, 4));
  // Four replicas are on two nodes, two of each context part on each of them, and both parts send at once.
  for (std::int32_t r = 0; r < 8; ++r) CHECK(found[0].at(0, r).experts == group_layout{2, 2, 2});
  CHECK(found[0].sums[0] == group_layout{4, 4, 1});
  REQUIRE(found[0].sums_of_experts.size() == 1);
  CHECK((found[0].sums_of_experts[0].nodes == 2 && found[0].sums_of_experts[0].per_node == 2));
  of.modules[0].experts = 8;
  CHECK(plan_layouts(of, plain_cluster(4, 4))[0].sums_of_experts[0] == group_layout{1, 2, 1});
  of.modules[0].experts = 1;
  CHECK(plan_layouts(of, plain_cluster(4, 4))[0].sums_of_experts.empty());
  // All ranks of two tensor groups share them, each group on a node; those of the other two have the same.
  of.modules[0] = on_ranks("picture", 0, {.data = 4, .tensor = 4});
  of.modules[0].experts = 2;
  const list<module_layout> both = plan_layouts(of, plain_cluster(4, 4));
  for (std::int32_t r = 0; r < 4; ++r) CHECK(both[0].at(0, r).experts == group_layout{2, 4, 1});
  CHECK(both[0].sums_of_experts[0] == group_layout{2, 1, 4});
}

TEST_CASE("groups of a tower whose replicas are nodes") {
  plan of{{32, 8}, "batch_sync", {}};
  list<std::int32_t> ranks;
  for (std::int32_t stage = 0; stage < 2; ++stage)
    for (std::int32_t replica = 0; replica < 4; ++replica)
      for (std::int32_t shard = 0; shard < 4; ++shard) ranks.push(8 * replica + 4 * stage + shard);
  module_plan own;
  own.name = "picture";
  own.on = mesh({.stages = 2, .data = 4, .context = 2, .tensor = 2}, ranks);
  of.modules.push(own);
  const list<module_layout> found = plan_layouts(of, plain_cluster(4, 8));
  for (std::int32_t d = 0; d < 2; ++d) {
    for (std::int32_t r = 0; r < 4; ++r) {
      CHECK(found[0].at(d, r).tensor == group_layout{1, 2, 1});
      CHECK(found[0].at(d, r).context == group_layout{1, 2, 1});
      CHECK(found[0].at(d, r).crossing == 0);
    }
    // The group is over all nodes, two ranks in each; three more such groups are there.
    CHECK(found[0].sums[d] == group_layout{4, 2, 4});
  }
}

TEST_CASE("ranks sum one gradient at a time, so modules on the same ranks do not share a way out") {
  plan of{{16, 8}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.data = 16}));
  of.modules.push(on_ranks("caption", 0, {.data = 16}));
  list<module_layout> found = plan_layouts(of, plain_cluster(2, 8));
  CHECK((found[0].sums[0] == group_layout{2, 8, 1} && found[1].sums[0] == found[0].sums[0]));
  // Modules beside each other in the same nodes do.
  of.modules[0].on = mesh({.data = 8}, {0, 1, 2, 3, 8, 9, 10, 11});
  of.modules[1].on = mesh({.data = 8}, {4, 5, 6, 7, 12, 13, 14, 15});
  found = plan_layouts(of, plain_cluster(2, 8));
  CHECK((found[0].sums[0] == group_layout{2, 4, 2} && found[1].sums[0] == found[0].sums[0]));
  // Whole in a node they have wires of their own.
  of.modules[1].on = mesh::from(4, {.data = 4});
  found = plan_layouts(of, plain_cluster(2, 8));
  CHECK((found[0].sums[0] == group_layout{2, 4, 1} && found[1].sums[0] == group_layout{1, 4, 1}));
}

TEST_CASE("a tensor group over nodes") {
  plan of{{32, 8, true}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.data = 2, .tensor = 16}));
  const list<module_layout> found = plan_layouts(of, plain_cluster(4, 8));
  CHECK(found[0].at(0, 0).tensor == group_layout{2, 8, 1});
  CHECK(found[0].sums[0] == group_layout{2, 1, 8});
  // Two groups over the same two nodes share them.
  of.modules[0].on = mesh({.data = 2, .tensor = 4}, {0, 1, 8, 9, 2, 3, 10, 11});
  CHECK(plan_layouts(of, plain_cluster(4, 8))[0].at(0, 1).tensor == group_layout{2, 2, 2});
}

TEST_CASE("some replicas cross nodes, some do not") {
  plan of{{12, 4}, "batch_sync", {}};
  module_plan own;
  own.on = mesh({.stages = 2, .data = 3}, {0, 1, 2, 3, 4, 5});
  of.modules.push(own);
  const list<module_layout> found = plan_layouts(of, plain_cluster(3, 4));
  CHECK(found[0].at(0, 0).crossing == 0);
  CHECK((found[0].at(0, 1).crossing == 2 && found[0].at(0, 2).crossing == 2));
  CHECK(found[0].sums[0] == group_layout{1, 3, 1});
  CHECK(found[0].sums[1] == group_layout{2, 2, 1});
}
