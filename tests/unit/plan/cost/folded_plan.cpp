// SPDX-License-Identifier: Apache-2.0
#include "unit/plan/estimated_models.hpp"
#include "unit/plan/random_plans.hpp"

#include <cmath>

using namespace motet;

namespace {

folded_plan folded(const plan& of) {
  return fold_plan(of, [](isize, std::int32_t) { return std::uint64_t{0}; });
}
// Any degrees on ranks in a row, modules apart or on the same ones, so that much can be folded.
plan regular_plan(laws::dice& roll, const list<module_facts>& facts) {
  plan of = random_plan(roll, facts, 24);
  std::int32_t first = 0;
  for (module_plan& own : of.modules) {
    if (first + own.on.split().size() > of.cluster.ranks) first = 0;
    own.on = mesh::from(first, own.on.split());
    if (roll.below(2) == 0) first += static_cast<std::int32_t>(own.on.split().size());
  }
  return of;
}
model_shape model_of(const list<module_facts>& facts) {
  model_shape model;
  for (const module_facts& each : facts) {
    model.towers.push(tower_of_layers("", each.layers, 128 * (1 + model.towers.size()), 32));
    model.towers.back().name = each.name;
    model.towers.back().frozen = each.frozen;
  }
  return model;
}

}  // namespace

TEST_CASE("replicas and shards that are alike are one") {
  plan of{{.ranks = 24}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.stages = 2, .data = 2, .tensor = 4}, 4));
  of.modules.push(on_ranks("caption", 16, {.data = 8}, 2));
  const folded_plan made = folded(of);
  CHECK(made.small.cluster.ranks == 3);
  CHECK(made.small.modules[0].on == mesh::from(0, {.stages = 2}));
  CHECK(made.small.modules[1].on == mesh::from(2, {}));
  CHECK(made.small.modules[0].microbatches == 4);
  CHECK(made.members == list<std::int32_t>{8, 8, 8});
  CHECK(made.first == list<std::int32_t>{0, 8, 16});
  CHECK((made.kinds[7] == 0 && made.kinds[15] == 1 && made.kinds[23] == 2));
  CHECK((made.together && made.exact));
  CHECK(made.sums == list<std::uint8_t>{1, 1});
}

TEST_CASE("replicas that share experts are one where they are alike, and compute together") {
  plan of{{.ranks = 8}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.data = 8}, 2));
  CHECK_FALSE(folded(of).together);
  of.modules[0].experts = 4;
  const folded_plan made = folded(of);
  CHECK((made.together && made.small.cluster.ranks == 1));
}

TEST_CASE("what shares ranks with others is another kind") {
  // Captions on the first two of eight replicas.
  plan of{{.ranks = 9}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.data = 8}));
  of.modules.push(on_ranks("caption", 0, {.data = 2}));
  folded_plan made = folded(of);
  CHECK(made.small.cluster.ranks == 2);
  CHECK(made.members == list<std::int32_t>{2, 6});
  CHECK(made.replicas[0] == list<std::int32_t>{0, 2});
  CHECK(made.replicas[1] == list<std::int32_t>{0});
  CHECK(made.kinds[8] == -1);
  CHECK_FALSE(made.together);
  // Of a tensor group's members one has captions too: its shards stay apart.
  of.modules[0].on = mesh::from(0, {.data = 2, .tensor = 4});
  of.modules[1].on = mesh({.data = 2}, {0, 4});
  made = folded(of);
  CHECK(made.small.modules[0].on.split() == degrees{.tensor = 4});
  CHECK(made.small.modules[1].on.split() == degrees{});
  CHECK(made.members == list<std::int32_t>{2, 2, 2, 2});
  // A replica that its owner says is another one.
  made = fold_plan(of, [](isize k, std::int32_t r) { return static_cast<std::uint64_t>(k == 0 ? r : 0); });
  CHECK(made.small.modules[0].on.split() == degrees{.data = 2, .tensor = 4});
  CHECK(made.small.modules[1].on.split() == degrees{.data = 2});
  CHECK(made.members == list<std::int32_t>(8, 1));
}

TEST_CASE("neighbours of one kind that are two ranks are told") {
  plan of{{.ranks = 4}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.stages = 2, .data = 2}));
  of.modules.push(on_ranks("caption", 0, {.stages = 2, .data = 2}));
  CHECK(folded(of).exact);
  of.modules[1].on = mesh({.stages = 2, .data = 2}, {0, 1, 3, 2});
  const folded_plan made = folded(of);
  CHECK(made.small.cluster.ranks == 2);
  CHECK_FALSE(made.exact);
  // Close, but not the same: messages of both have one way.
  list<module_facts> facts = tower_facts();
  const auto of_clip = [&] {
    model_shape model = model_of(facts);
    model.towers.resize(2);
    return model;
  }();
  of.modules[0].microbatches = of.modules[1].microbatches = 4;
  const cluster_facts on = wired_cluster(4, 4);
  CHECK(estimated(of, of_clip, on, 64).step_seconds ==
        about(estimated(of, of_clip, on, 64, {.fold = false}).step_seconds, .05));
}

TEST_CASE("the program of a folded plan takes the time of the whole one") {
  list<module_facts> facts = tower_facts();
  laws::dice roll(5);
  int compared = 0, smaller = 0, nodes = 0, zero = 0, uneven = 0, shared = 0, unlike = 0;
  for (int n = 0; n < 6000 && compared < 500; ++n) {
    CAPTURE(n);
    facts[2].frozen = roll.below(2) == 0;
    const plan of = roll.below(3) == 0 ? random_plan(roll, facts) : regular_plan(roll, facts);
    const isize samples = roll.below(2) == 0 ? 72 : 72 + 24 * roll.below(9);
    if (!prove_plan(of, facts, samples).ok()) continue;
    const model_shape model = model_of(facts);
    cluster_facts on = wired_cluster(of.cluster.ranks, roll.below(2) == 0 ? 4 : 64);
    const bool overlap = roll.below(4) != 0;
    // A third of the plans begin on a few nodes of one kind, and go on on another.
    if (roll.below(3) == 0) {
      on = with_slower_nodes(wired_cluster(roll.between(1, 3), roll.between(1, 4)), of.cluster.ranks);
      ++unlike;
    }
    run_forecast whole, part;
    REQUIRE(estimate(of, model, on, {}, samples, whole, {.sums_overlap = overlap, .fold = false}).ok());
    REQUIRE(estimate(of, model, on, {}, samples, part, {.sums_overlap = overlap}).ok());
    const plan_pricer by(of, model, on, {}, samples);
    const folded_plan made = fold_plan(of, [&](isize k, std::int32_t r) { return by.key(k, r); });
    if (!made.exact) continue;
    ++compared;
    smaller += made.small.cluster.ranks < of.cluster.ranks ? 1 : 0;
    nodes += on.devices_per_node == 4 ? 1 : 0;
    for (const module_plan& own : of.modules) zero += own.zero > 1 && own.on.split().data > 1 ? 1 : 0;
    for (isize k = 0; k < 3; ++k) uneven += by.even(k) ? 0 : 1;
    for (const list<std::int32_t>& each : made.replicas) shared += each.size() > 1 ? 1 : 0;
    const auto same = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b) + 1e-15; };
    REQUIRE_MESSAGE(same(part.step_seconds, whole.step_seconds),
                    part.step_seconds << " " << whole.step_seconds);
    REQUIRE(std::abs(part.bubble_rate - whole.bubble_rate) < 1e-9);
    REQUIRE(std::abs(part.communication_share - whole.communication_share) < 1e-9);
    REQUIRE(same(part.memory_bytes, whole.memory_bytes));
    REQUIRE(part.fullest_rank < of.cluster.ranks);
    REQUIRE(room_of(part.fullest_rank, on) == room_of(whole.fullest_rank, on));
    REQUIRE(fits(part, on) == fits(whole, on));
    for (isize k = 0; k < 3; ++k) {
      REQUIRE(same(part.modules[k].backward_seconds, whole.modules[k].backward_seconds));
      REQUIRE(same(part.modules[k].bytes.total(), whole.modules[k].bytes.total()));
    }
  }
  MESSAGE(compared << " plans, " << smaller << " smaller, " << nodes << " over nodes, " << zero
                   << " modules sum in each backward, " << uneven << " uneven, " << shared
                   << " with several kinds of replicas, " << unlike << " drawn on unlike devices");
  CHECK(compared == 500);
  CHECK((smaller > 200 && nodes > 150 && zero > 60 && uneven > 60 && shared > 60));
}

TEST_CASE("thousands of ranks fold to as few as four") {
  plan of{{4096, 8}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.stages = 2, .data = 192, .tensor = 8}, 8));
  of.modules.push(on_ranks("caption", 3072, {.stages = 2, .data = 128, .tensor = 4}, 8));
  const folded_plan made = folded(of);
  CHECK(made.small.cluster.ranks == 4);
  CHECK(made.members == list<std::int32_t>{1536, 1536, 512, 512});
  program of_small;
  REQUIRE(write_program(made, {{"picture", 8, 8}, {"caption", 4, 8}}, of_small).ok());
  CHECK(of_small.instructions.size() < 250);
  CHECK(check(of_small).ok());
}
