// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/prove/plan_score.hpp>
#include <motet/runtime/stage/stage_groups.hpp>

#include "unit/plan/random_plans.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

std::vector<std::int32_t> members(const std::vector<std::vector<std::int32_t>>& all, std::int32_t which) {
  return which < 0 ? std::vector<std::int32_t>{} : all[static_cast<std::size_t>(which)];
}
// Groups of one are none.
std::vector<std::int32_t> several(const std::vector<std::int32_t>& all) {
  return all.size() < 2 ? std::vector<std::int32_t>{} : all;
}
std::vector<std::int32_t> several(const list<std::int32_t>& all) {
  return several(std::vector<std::int32_t>(all.begin(), all.end()));
}

}  // namespace

TEST_CASE("groups are those of the mesh, for any plan") {
  list<module_facts> facts = tower_facts();
  laws::dice roll(51);
  int spread = 0, legal = 0;
  for (int n = 0; n < 3000 && legal < 200; ++n) {
    CAPTURE(n);
    facts[1].frozen = roll.below(3) == 0;
    const plan of = random_plan(roll, facts);
    if (!prove_plan(of, facts, 72).ok()) continue;
    ++legal;
    score order;
    REQUIRE(write_plan(of, facts, order).ok());
    const program made = compile(order);
    std::vector<std::int32_t> tensor;
    for (const module_plan& own : of.modules) tensor.push_back(own.on.split().tensor);
    const stage_groups groups(made, tensor);
    for (const voice& each : made.voices) {
      const mesh& on = of.modules[each.module].on;
      const degrees& split = on.split();
      REQUIRE((groups.tensor_of(each) == split.tensor && groups.context_of(each) == split.context));
      for (std::int32_t s = 0; s < each.stages; ++s) {
        const mesh_position at = on.position(on.find(made.place(each, s)));
        REQUIRE((groups.tensor_member(each) == at.tensor && groups.context_member(each) == at.context));
        const stage_groups::group_numbers& own = groups.of(each, s);
        REQUIRE(members(groups.compute(), own.tensor) == several(on.group(axis::tensor, at)));
        REQUIRE(members(groups.compute(), own.context) == several(on.group(axis::context, at)));
        REQUIRE(own.experts == -1);
        // Every gradient element is summed over all ranks that hold it, once.
        std::vector<std::int32_t> cut, all;
        for (std::int32_t r = 0; r < split.data; ++r)
          for (std::int32_t c = 0; c < split.context; ++c)
            for (std::int32_t t = 0; t < split.tensor; ++t) {
              all.push_back(on.rank({at.stage, r, c, t}));
              if (t == at.tensor) cut.push_back(all.back());
            }
        std::vector<std::vector<std::int32_t>> wanted{several(cut), several(all)}, sums;
        if (split.tensor == 1) wanted.pop_back();
        if (!each.learns) wanted.clear();
        for (const std::int32_t lane : own.sums) sums.push_back(members(groups.reduce(), lane));
        REQUIRE(sums == wanted);
        spread += split.tensor > 1 && split.data * split.context > 1 ? 1 : 0;
      }
    }
  }
  CHECK(legal == 200);
  CHECK(spread > 100);
}

TEST_CASE("ranks that compute together do so in one group, whatever the stage; sums have one each") {
  plan of{{.ranks = 4}, "interleaved", {}};
  of.modules.push(on_ranks("picture", 0, degrees{.data = 2, .tensor = 2}, 2));
  of.modules[0].chunks = 2;
  of.modules[0].group = 1;
  score order;
  REQUIRE(write_plan(of, {{.name = "picture", .layers = 4}}, order).ok());
  const program made = compile(order);
  const stage_groups groups(made, {2});
  CHECK(groups.compute() == std::vector<std::vector<std::int32_t>>{{0, 1}, {2, 3}});
  REQUIRE(groups.reduce().size() == 6);  // of each of two stages: two parts, and what is not cut
  const voice& first = made.voices[0];
  CHECK(groups.of(first, 0).tensor == groups.of(first, 1).tensor);
  for (const std::size_t lane : {0u, 1u})
    CHECK(groups.of(first, 0).sums.at(lane) != groups.of(first, 1).sums.at(lane));
}

TEST_CASE(
    "replicas that share experts compute together, and sum their gradients with those that have the same") {
  plan of{{.ranks = 8}, "gpipe", {}};
  of.modules.push(on_ranks("talk", 0, degrees{.data = 4, .context = 2}, 2));
  of.modules[0].experts = 2;
  score order;
  REQUIRE(write_plan(of, {{.name = "talk", .layers = 4}}, order).ok());
  const program made = compile(order);
  const stage_groups groups(made, {1}, {2});
  for (const voice& each : made.voices) {
    const std::int32_t first = each.replica / 2 * 4 + each.shard, same = each.replica % 2 * 2;
    const stage_groups::group_numbers& own = groups.of(each, 0);
    CHECK(members(groups.compute(), own.experts) == std::vector<std::int32_t>{first, first + 2});
    CHECK(groups.experts_member(each) == each.replica % 2);
    CHECK(members(groups.reduce(), own.sums.at(0)) ==
          std::vector<std::int32_t>{same, same + 1, same + 4, same + 5});
    CHECK(members(groups.reduce(), own.sums.at(1)).size() == 8);
    CHECK(own.sums.size() == 2);
    CHECK(own.tensor == -1);
  }
}

TEST_CASE("beside a tensor degree gradients are summed in three lanes") {
  plan of{{.ranks = 16}, "gpipe", {}};
  of.modules.push(on_ranks("talk", 0, degrees{.data = 4, .context = 2, .tensor = 2}, 2));
  of.modules[0].experts = 2;
  score order;
  REQUIRE(write_plan(of, {{.name = "talk", .layers = 4}}, order).ok());
  const program made = compile(order);
  const stage_groups groups(made, {2}, {2});
  const mesh& on = of.modules[0].on;
  for (const voice& each : made.voices) {
    const mesh_position at = on.position(on.find(made.place(each, 0)));
    const stage_groups::group_numbers& own = groups.of(each, 0);
    // With all experts in the order of replicas and of their tensor parts.
    std::vector<std::int32_t> sharing, alike, of_tensor, all;
    for (std::int32_t r = 0; r < 4; ++r)
      for (std::int32_t c = 0; c < 2; ++c)
        for (std::int32_t t = 0; t < 2; ++t) {
          const std::int32_t rank = on.rank({0, r, c, t});
          if (r / 2 == at.replica / 2 && c == at.context) sharing.push_back(rank);
          if (r % 2 == at.replica % 2 && t == at.tensor) alike.push_back(rank);
          if (t == at.tensor) of_tensor.push_back(rank);
          all.push_back(rank);
        }
    CHECK(members(groups.compute(), own.experts) == sharing);
    REQUIRE(own.sums.size() == 3);
    CHECK(members(groups.reduce(), own.sums[0]) == alike);
    CHECK(members(groups.reduce(), own.sums[1]) == of_tensor);
    CHECK(members(groups.reduce(), own.sums[2]) == all);
    CHECK(groups.lane_of(each, cut_by::experts) == 0);
    CHECK(groups.lane_of(each, cut_by::tensor) == 1);
    CHECK(groups.lane_of(each, cut_by::nothing) == 2);
    CHECK(groups.is_first(each, cut_by::experts) == (at.replica < 2 && at.context == 0));
    CHECK(groups.is_first(each, cut_by::tensor) == (at.replica < 1 && at.context == 0));
    CHECK(groups.is_first(each, cut_by::nothing) == (made.place(each, 0) == 0));
  }
}

TEST_CASE("a module on one rank has no groups") {
  plan of{{.ranks = 1}, "gpipe", {}};
  of.modules.push(on_ranks("picture", 0, {}, 2));
  score order;
  REQUIRE(write_plan(of, {{.name = "picture"}}, order).ok());
  const program made = compile(order);
  const stage_groups groups(made, {1});
  CHECK((groups.compute().empty() && groups.reduce().empty()));
  const stage_groups::group_numbers& own = groups.of(made.voices[0], 0);
  CHECK((own.tensor == -1 && own.context == -1 && own.experts == -1));
  CHECK(own.sums == std::vector<std::int32_t>{-1});
}
