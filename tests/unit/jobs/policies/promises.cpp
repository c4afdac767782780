// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/policies/promises.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the oldest are promised the least that they run on, as far as the share goes") {
  const jobs_here here = small_jobs();
  job_world world(here.cluster, here.trace, here.times, here.memory, {});
  std::vector<std::int32_t> who;
  for (std::int32_t job = 0; job < 5; ++job) {
    world.wait(job);
    world.jobs[as_size(job)].waited = job == 4 ? 10 : 100;
    who.push_back(job);
  }
  std::swap(who[0], who[3]);  // the order of the queue is not that of their age
  const std::vector<std::vector<allotment>> wishes(
      who.size(), {world.speeds.packed(0, 4), world.speeds.packed(0, 2), world.speeds.packed(0, 8)});

  device_promises all(50, 0.25);
  CHECK(all.wakes(world) == world.now);
  CHECK(all.patience_ends(world));
  CHECK(!all.patience_ends(world));  // nothing that was not known
  CHECK(all.wakes(world) == world.now + 40);

  // A quarter of 16 is two promises of two devices; the third in age waits, and so do those behind it.
  const std::vector<std::int32_t> least = all.promise(world, who, wishes, {16});
  REQUIRE(all.pledges().size() == 2);
  CHECK(all.pledges()[0].job == 0);
  CHECK(all.pledges()[1].job == 1);
  CHECK(least == std::vector<std::int32_t>{-1, 1, -1, 1, -1});

  // What was promised stays; with fewer devices the first promise goes first, and no other is made.
  const std::vector<std::int32_t> fewer = all.promise(world, who, wishes, {3});
  CHECK(all.pledges().size() == 2);
  CHECK(fewer == std::vector<std::int32_t>{-1, -1, -1, 1, -1});

  // One job alone may have more than the share.
  device_promises one(50, 0.25);
  one.promise(world, who, std::vector(who.size(), std::vector{world.speeds.packed(0, 8)}), {16});
  CHECK(one.pledges().size() == 1);
}
