// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/policies/gavel.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("gavel changes kinds, never numbers, and tells its gap") {
  const jobs_here here = small_jobs();
  const watched_play got = watch(here, gavel_policy{});
  CHECK(got.wrong.empty());
  CHECK(got.outcome.submitted == 160);
  CHECK(got.outcome.finished.size() > 60);
  const watched_play again = watch(here, gavel_policy{});
  CHECK(again.outcome.finished == got.outcome.finished);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const watched_play drawn = watch(drawn_jobs(seed, 80), gavel_policy{});
    CHECK(drawn.wrong.empty());
    CHECK(drawn.outcome.submitted == 80);
  }
}
