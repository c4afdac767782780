// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/policies/crius.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("crius, and what is left of it without a part, loses no job and no device") {
  const jobs_here here = small_jobs();
  for (const crius_rules& rules : {crius_rules{}, crius_rules{.types = false}, crius_rules{.scaling = false},
                                   crius_rules{.planner = false}, crius_rules{.depth = 4}}) {
    const watched_play got = watch(here, crius_policy(rules));
    CHECK(got.wrong.empty());
    CHECK(got.outcome.submitted == 160);
    CHECK(got.outcome.finished.size() > 100);
  }
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const watched_play got = watch(drawn_jobs(seed, 80), crius_policy{});
    CHECK(got.wrong.empty());
    CHECK(got.outcome.submitted == 80);
  }
}

TEST_CASE("the same trace gives the same result") {
  const jobs_here here = drawn_jobs(11, 60);
  CHECK(watch(here, crius_policy{}).outcome.finished == watch(here, crius_policy{}).outcome.finished);
}
