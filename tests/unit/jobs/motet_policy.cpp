// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/crius.hpp>
#include <motet/jobs/motet_policy.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
// Notes the longest time that anybody waited in all.
struct patient {
  motet_policy policy;
  double longest = 0;
  void on_events(job_world& world, const job_events& events) {
    policy.on_events(world, events);
    for (const std::int32_t job : world.waiting) longest = std::max(longest, world.of(job).waited);
  }
};
}  // namespace

TEST_CASE("jobs end earlier than under crius, on our table and on drawn ones") {
  double ours = 0, theirs = 0;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const jobs_here here = seed == 0 ? small_jobs() : drawn_jobs(seed, 100);
    const watched_play got = watch(here, motet_policy{}), other = watch(here, crius_policy{});
    CHECK(got.wrong.empty());
    CHECK(got.outcome.unfinished.empty());
    ours += censored_completion(got.outcome), theirs += censored_completion(other.outcome);
  }
  CHECK(ours < theirs);
}

TEST_CASE("choices are close to their bounds, even where a job can take half of a kind") {
  const jobs_here here = small_jobs();
  job_world world(here.cluster, here.trace, here.times, here.memory, {});
  round_player player(world, {});
  motet_policy policy;
  player.play(policy);
  CHECK(policy.choices_made() > 100);
  CHECK(policy.mean_gap() < 0.05);
  CHECK(policy.worst_gap() < 0.5);
}

TEST_CASE("who waited long enough is promised devices and keeps them") {
  const jobs_here here = drawn_jobs(2, 200);
  const auto longest = [&](double patience) {
    watched_policy<patient> policy{patient{motet_policy({.patience = patience})}};
    job_world world(here.cluster, here.trace, here.times, here.memory, {});
    round_player player(world, {});
    player.play(policy);
    CHECK(policy.wrong.empty());
    return policy.policy.longest;
  };
  const double never = longest(1e9), soon = longest(7200);
  CHECK(never > 7200);
  CHECK(soon < never);
}
