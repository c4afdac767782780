// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/order/rank_groups.hpp>

#include <motet/plan/prove/require_plan.hpp>
#include <motet/schedule/core/compile.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Replicas of one module, as pipelines of so many stages.
program replicas_of(int stages, int replicas) {
  plan how;
  how.cluster.ranks = stages * replicas;
  how.schedule = "1f1b";
  module_plan own = on_ranks("a", 0, {.stages = stages, .data = replicas}, 2);
  own.group = 1;
  how.modules.push(own);
  module_facts known;
  known.name = "a";
  known.layers = 8;
  return compile(require_proven(how, {known}, 16).order);
}

}  // namespace

TEST_CASE("ranks that follow each other are one group, and so are those that a replica needs") {
  const program flat = replicas_of(1, 4);
  const list<list<std::int32_t>> all{{0}, {1}, {2}, {3}};
  CHECK(groups_of_hands(flat, all, 0) == list<std::int32_t>{0, 0, 0, 0});
  CHECK(groups_of_hands(flat, all, 1) == list<std::int32_t>{0, 1, 2, 3});
  CHECK(groups_of_hands(flat, all, 2) == list<std::int32_t>{0, 0, 1, 1});
  CHECK(groups_of_hands(flat, all, 3) == list<std::int32_t>{0, 0, 0, 1});
  CHECK(groups_of_hands(flat, all, 9) == list<std::int32_t>{0, 0, 0, 0});
  // Groups are counted as their hands come.
  CHECK(groups_of_hands(flat, {{3}, {0}, {2}}, 2) == list<std::int32_t>{0, 1, 0});
  // Each of two pipelines has two ranks, whether these follow each other or not.
  const program deep = replicas_of(2, 2);
  CHECK(groups_of_hands(deep, {{0}, {1}}, 1) == list<std::int32_t>{0, 1});
  CHECK(groups_of_hands(deep, {{0}, {1}}, 3) == list<std::int32_t>{0, 0});
}
