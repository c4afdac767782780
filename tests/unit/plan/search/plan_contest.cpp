// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/plan_contest.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

struct contest_fixture {
  cluster_facts on;
  model_shape model{"two",
                    {{.name = "one", .layers = 2, .width = 32, .heads = 2, .tokens = 16, .embedding = 16},
                     {.name = "other", .layers = 2, .width = 16, .heads = 2, .tokens = 4, .embedding = 16}}};
  search_options options;
  contest_fixture() {
    on.device = {"small", 2e10, 1e10, 1e9, 1e9, {0.6, 4, 4}};
    on.devices_per_node = 4;
    on.inside = {2e-6, 1e9};
    on.between = {2e-5, 1e8};
  }
  plan_sketch sketch(degrees one, degrees other, isize host = -1) const {
    plan_sketch out{{{}, {}}, {-1, host}, {}};
    out.points[0].split = one;
    out.points[1].split = other;
    return out;
  }
};

}  // namespace

TEST_CASE("the best comes first, each structure once, and what is too slow is hopeless") {
  const contest_fixture with;
  plan_contest contest(with.model, with.on, 8, with.options, 1);
  CHECK(contest.empty());
  CHECK_FALSE(contest.hopeless(1e9, 4));
  contest.offer(with.sketch({1, 1, 1, 1}, {1, 1, 1, 1}), 1);
  const double slow = contest.best_seconds();
  contest.offer(with.sketch({1, 3, 1, 1}, {1, 1, 1, 1}), 1);
  CHECK(contest.best_seconds() < slow);
  plan_sketch again = with.sketch({1, 3, 1, 1}, {1, 1, 1, 1});
  again.points[0].microbatches = 2;  // of the same structure, and slower
  contest.offer(again, 1);
  CHECK(contest.simulated() == 3);
  const search_result found = contest.result(7);
  CHECK(found.considered == 7);
  REQUIRE(found.plans.size() == 2);
  CHECK(found.plans[0].how.modules[0].on.split().data == 3);
  CHECK(found.plans[0].how.modules[0].microbatches == 1);
  CHECK(found.plans[1].gives.step_seconds == slow);
  CHECK(contest.hopeless(2 * contest.best_seconds(), 1));
  CHECK(contest.hopeless(contest.best_seconds(), 4));
  CHECK_FALSE(contest.hopeless(contest.best_seconds(), 3));  // as fast on fewer ranks would be better
  CHECK_FALSE(contest.hopeless(0.9 * contest.best_seconds(), 4));
}

TEST_CASE("what does not fit is played and left out") {
  contest_fixture with;
  with.on.device.memory_bytes = 10;
  plan_contest contest(with.model, with.on, 8, with.options, 1);
  contest.offer(with.sketch({1, 1, 1, 1}, {1, 1, 1, 1}), 1);
  CHECK(contest.simulated() == 1);
  CHECK(contest.empty());
  CHECK(contest.result(0).plans.empty());
}

TEST_CASE("what the joins alone make too slow is not played") {
  const contest_fixture with;
  plan_contest contest(with.model, with.on, 8, with.options, 1);
  contest.offer(with.sketch({1, 2, 1, 1}, {1, 2, 1, 1}), 1);
  plan_sketch slow = with.sketch({1, 1, 1, 1}, {1, 1, 1, 1});
  slow.seconds.lead = contest.best_seconds();
  contest.offer(slow, 8, true);
  CHECK(contest.simulated() == 1);
}
