// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/search_every.hpp>

#include <doctest/doctest.h>

using namespace motet;

// That it finds what brute force finds is the test of search.hpp.

TEST_CASE("with nothing found before, every combination that fits is considered, and the best one played") {
  cluster_facts on;
  on.device = {"small", 2e10, 1e10, 1e9, 1e9, {0.6, 4, 4}};
  on.devices_per_node = 2;
  on.inside = {2e-6, 1e9};
  const model_shape model{
      "two",
      {{.name = "one", .layers = 1, .width = 32, .heads = 1, .tokens = 16, .embedding = 16},
       {.name = "other", .layers = 1, .width = 16, .heads = 1, .tokens = 4, .embedding = 16}}};
  search_options options;
  for (const tower_outline& each : model.towers)
    options.pins.push(
        {.name = each.name, .context = 1, .microbatches = 1, .stash = -1, .recompute = 0, .zero = 0});
  plan_contest contest(model, on, 2, options, 1);
  tower_library library(model, on, 2, 1, options, true);
  search_limit limit(options, contest);
  every_plan every(2, on, 1, options, library, contest, limit);
  every.run();
  // Apart: one device each. Together: both on one or both on two with either cut, or one of two on two.
  CHECK(every.considered() == 1 + 4);
  CHECK(contest.simulated() >= 1);
  REQUIRE_FALSE(contest.empty());
  CHECK(contest.best().ranks() <= 2);
}

TEST_CASE("what cannot be better than what is known is not played again") {
  cluster_facts on;
  on.device = {"small", 2e10, 1e10, 1e9, 1e9, {0.6, 4, 4}};
  on.devices_per_node = 4;
  on.inside = {2e-6, 1e9};
  const model_shape model{
      "one", {{.name = "one", .layers = 2, .width = 32, .heads = 2, .tokens = 16, .embedding = 16}}};
  const search_options options;
  plan_contest contest(model, on, 8, options, 1);
  tower_library library(model, on, 8, 1, options, true);
  search_limit limit(options, contest);
  every_plan(1, on, 1, options, library, contest, limit).run();
  const double best = contest.best_seconds();
  const isize played = contest.simulated();
  every_plan(1, on, 1, options, library, contest, limit).run();
  CHECK(contest.best_seconds() == best);
  CHECK(contest.simulated() - played <= 1);
}
