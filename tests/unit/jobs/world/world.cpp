// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/world/world.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("jobs go from queue to queue, and have what their devices say") {
  const jobs_here here = small_jobs();
  job_world world(here.cluster, here.trace, here.times, here.memory, {});
  REQUIRE(world.jobs.size() == 160);
  CHECK(world.of(0).has == world.of(0).asked);
  world.wait(0);
  world.wait(1);
  const std::int32_t wide = world.places.first_node(1);
  world.places.give(0, wide, 4);
  world.places.give(0, wide + 1, 4);
  world.start(0);
  CHECK(world.running == std::vector<std::int32_t>{0});
  CHECK(world.waiting == std::vector<std::int32_t>{1});
  CHECK(world.of(0).has == allotment{1, 8, 4});
  world.of(0).left = 5;
  world.places.release(0);
  world.suspend(0);
  CHECK(world.waiting == std::vector<std::int32_t>{1, 0});
  CHECK(world.of(0).work == 5);
  // It would have this, in the best layout.
  CHECK(world.placed(0) == allotment{1, 8, 8});
  world.drop(1);
  CHECK(world.of(1).status == job_status::dropped);
  world.finish(0, 77);
  CHECK(world.of(0).ended == 77);
  CHECK(job_world::is_job(159));
  CHECK_FALSE(job_world::is_job(occupancy::holder_of(0)));
}
