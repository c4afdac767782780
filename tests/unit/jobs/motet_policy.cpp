// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/crius.hpp>
#include <motet/jobs/motet_policy.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
// Notes the longest time that anybody waited in all, and what is not as promised.
struct patient {
  motet_policy policy;
  double patience;
  double longest = 0;
  std::size_t promised = 0;
  std::vector<std::string> broken{};

  void on_events(job_world& world, const job_events& events) {
    const std::vector<motet_policy::pledge> before = policy.pledges();
    std::int32_t oldest = -1;
    for (const std::int32_t job : world.waiting)
      if (world.of(job).waited >= patience && (oldest < 0 || job < oldest)) oldest = job;
    policy.on_events(world, events);
    const std::vector<motet_policy::pledge>& now = policy.pledges();
    std::size_t at = 0;
    for (const motet_policy::pledge& each : before) {
      if (world.of(each.job).status == job_status::finished) continue;
      if (at == now.size() || now[at].job != each.job)
        broken.push_back("a promise is forgotten, or not in turn");
      ++at;
    }
    promised = std::max(promised, now.size());
    std::vector<std::int32_t> room;
    for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
      room.push_back(world.places.usable_of(kind));
    for (const motet_policy::pledge& each : now) {
      if (world.of(each.job).status != job_status::running)
        broken.push_back("who was promised devices waits");
      if ((room[as_size(each.least.kind)] -= each.least.devices) < 0) broken.push_back("promised twice");
    }
    for (const std::int32_t job : world.waiting) longest = std::max(longest, world.of(job).waited);
    const bool happened = !events.arrived.empty() || events.frees();
    if (!happened || oldest < 0 || world.of(oldest).status != job_status::waiting) return;
    // The oldest waits only where no kind has what it runs on beside what is promised.
    for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
      for (std::int32_t devices = 1; devices <= std::min(room[as_size(kind)], 16); devices *= 2)
        if (world.speeds.best(world.of(oldest).shape, world.speeds.packed(kind, devices)).runs)
          broken.push_back("the oldest waits beside devices that it could have");
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
  // Where much is promised, little is left to choose, and the bound is loose once in a while.
  for (const double patience : {43200.0, 1e9}) {
    job_world world(here.cluster, here.trace, here.times, here.memory, {});
    round_player player(world, {});
    motet_policy policy({.patience = patience});
    player.play(policy);
    CHECK(policy.choices_made() > 100);
    CHECK(policy.mean_gap() < 0.05);
    CHECK(policy.worst_gap() < (patience < 1e9 ? 0.7 : 0.1));
  }
}

TEST_CASE("promises are kept in the order in which they were made, and the oldest waits for nothing else") {
  const auto longest = [&](std::uint64_t seed, double patience) {
    const jobs_here here = drawn_jobs(seed, 150);
    watched_policy<patient> policy{patient{motet_policy({.patience = patience}), patience}};
    job_world world(here.cluster, here.trace, here.times, here.memory, {});
    round_player player(world, {});
    player.play(policy);
    CHECK(policy.wrong.empty());
    CHECK(policy.policy.broken == std::vector<std::string>{});
    CHECK((policy.policy.promised > 0) == (patience < 1e9));
    return policy.policy.longest;
  };
  const double never = longest(2, 1e9), soon = longest(2, 7200);
  CHECK(never > 7200);
  CHECK(soon < never);
  // Little patience: nearly all are promised devices, and stand in line for them.
  for (std::uint64_t seed = 3; seed < 8; ++seed) longest(seed, seed % 2 == 0 ? 600 : 3000);
}
