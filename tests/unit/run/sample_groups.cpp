// SPDX-License-Identifier: Apache-2.0
#include <motet/run/chosen_plan.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a plan's replicas are groups of their ranks, and groups that reach over all ranks are refused") {
  const list<module_facts> facts = facts_of_scripted();
  const plan two = plan_of("data-2", facts);
  CHECK(sample_groups(two, facts, 12, 1) == 2);
  CHECK(sample_groups(two, facts, 12, 2) == 1);
  CHECK(sample_groups(two, facts, 12, 0) == 1);
  training_program speaks = speaking_program();
  speaks.plans = {};
  const auto chosen = [&](const char* plan) {
    return choose_plan(settings_of({"--plan", plan, "--reorder", "ranks", "--reorder-groups", "1"}, speaks));
  };
  CHECK(chosen("data-2").value.cluster.ranks == 2);
  CHECK_THROWS_WITH_AS(chosen("tensor-2"), doctest::Contains("so that all 2 ranks are one"), error);
}
