// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/policies/elasticflow.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("with deadlines, most of what is finished is in time") {
  const watched_play got = watch(small_jobs(), elasticflow_policy({.deadlines = true}));
  CHECK(got.wrong.empty());
  CHECK(got.outcome.finished.size() > 20);
  CHECK(static_cast<double>(got.outcome.in_time) > 0.8 * static_cast<double>(got.outcome.finished.size()));
}

TEST_CASE("without deadlines, who runs shares all devices of a kind") {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const jobs_here here = drawn_jobs(seed, 60);
    job_world world(here.cluster, here.trace, here.times, here.memory, {});
    round_rules rules;
    rules.far_deadline = 1e9;
    round_player player(world, rules);
    watched_policy<elasticflow_policy> policy{elasticflow_policy({.deadlines = false})};
    const job_outcome got = player.play(policy);
    CHECK(policy.wrong.empty());
    CHECK(got.submitted == 60);
    CHECK(got.reschedules > static_cast<motet::isize>(got.finished.size()));
  }
}
