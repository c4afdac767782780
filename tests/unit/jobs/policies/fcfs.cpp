// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/policies/fcfs.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("first come, first served: who came first for a kind starts first") {
  const jobs_here here = small_jobs();
  const watched_play got = watch(here, fcfs_policy{});
  CHECK(got.wrong.empty());
  CHECK(got.outcome.submitted == 160);
  CHECK(got.outcome.finished.size() > 60);
  const watched_play again = watch(here, fcfs_policy{});
  CHECK(again.outcome.finished == got.outcome.finished);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const watched_play drawn = watch(drawn_jobs(seed, 80), fcfs_policy{});
    CHECK(drawn.wrong.empty());
    CHECK(drawn.outcome.submitted == 80);
  }
}

TEST_CASE("nobody is moved or suspended") {
  const watched_play got = watch(small_jobs(), fcfs_policy{});
  CHECK(got.outcome.reschedules == static_cast<motet::isize>(got.outcome.finished.size()));
  CHECK(got.outcome.unfinished.empty());
}
