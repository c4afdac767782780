// SPDX-License-Identifier: Apache-2.0
#include "drawn_quotas.hpp"

#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/describe/model_presets.hpp>
#include <motet/plan/prove/check_lanes.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/plan/quotas/plan_of_quotas.hpp>
#include <motet/plan/quotas/quotas_of_towers.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("modules of one wave on one device are ranks with quotas of their own") {
  const model_shape model = find_model("b16")->make();
  const quota_question asked = quotas_of_towers(model, cluster_named("h100:1x1"), 8);
  const plan_by_quotas made = plan_of_quotas(asked, {.waves = {{{1, 1, 4}, {0, 1, 11}}}});
  CHECK(made.exact);
  CHECK(made.quotas == std::vector<std::int32_t>{88, 32});
  CHECK(made.how.cluster.ranks == 2);
  CHECK(made.how.modules[0].on.ranks()[0] == 0);
  CHECK(made.how.modules[1].on.ranks()[0] == 1);
  CHECK(prove_plan(made.how, facts_of(model), 8).ok());
}
TEST_CASE("modules that share devices compute in lanes of their own, those that follow each other in one") {
  quota_question asked = drawn_quotas(1, 3, false);
  asked.devices = 4;
  const quota_plan wanted{.waves = {{{0, 3, 10}, {1, 15, 5}}, {{2, 15, 16}}}, .remade = true};
  const plan_by_quotas made = plan_of_quotas(asked, wanted);
  CHECK(made.quotas.empty());
  CHECK(made.exact);
  CHECK(made.how.cluster.ranks == 4);
  CHECK(check_lanes(made.how).ok());
  CHECK(made.how.modules[0].lane == 0);
  CHECK(made.how.modules[1].lane == 1);
  CHECK(made.how.modules[2].lane == 0);
  CHECK(made.how.modules[0].share == doctest::Approx(10 / 15.0));
  CHECK(made.how.modules[1].share == doctest::Approx(5 / 15.0));
  CHECK(made.how.modules[1].on.split().data == 4);
  CHECK(made.how.modules[2].remade[0] == 1);
  // A second wave that wants other shares has them not.
  quota_question more = drawn_quotas(1, 4, false);
  more.devices = 1;
  CHECK_FALSE(plan_of_quotas(more, {.waves = {{{0, 1, 10}, {1, 1, 5}}, {{2, 1, 7}, {3, 1, 8}}}}).exact);
}
TEST_CASE("what the search finds for towers is proven as any plan") {
  for (const char* const name : {"b16", "three-towers", "clip-1.1b", "locked-1.1b"}) {
    const model_shape model = find_model(name)->make();
    for (const char* const cluster : {"h100:1x1", "h200:1x2", "h100:1x4"}) {
      for (const isize samples : {8, 64}) {
        CAPTURE(name);
        CAPTURE(cluster);
        CAPTURE(samples);
        const quota_question asked = quotas_of_towers(model, cluster_named(cluster), samples);
        const quota_answer found = search_quotas(asked);
        if (!found.best.fits) continue;
        const plan_by_quotas made = plan_of_quotas(asked, found.best.how);
        CHECK(prove_plan(made.how, facts_of(model), samples).ok());
        CHECK(made.how.cluster.ranks <=
              std::max(asked.devices, static_cast<std::int32_t>(made.quotas.size())));
      }
    }
  }
}
