// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/world/lay_out.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("all jobs of a kind fit wherever their devices suffice") {
  const jobs_here here = small_jobs();
  const random_stream chance(5, "wishes");
  std::uint64_t at = 0;
  for (int trial = 0; trial < 50; ++trial) {
    job_world world(here.cluster, here.trace, here.times, here.memory, {});
    kind_layout layout(world);
    for (int again = 0; again < 3; ++again) {
      std::vector<kind_layout::wish> wishes;
      std::int32_t left = 32;
      for (std::int32_t job = 0; left > 0; ++job) {
        const std::int32_t devices = 1 << chance.below(at++, 5);
        if (devices > left) continue;
        left -= devices;
        wishes.push_back({job, devices});
      }
      for (std::int32_t job = 0; job < 160; ++job) world.places.release(job);
      layout.lay_out(0, wishes);
      for (const kind_layout::wish& each : wishes) {
        CHECK(world.places.devices_of(each.job) == each.devices);
        CHECK(world.places.pieces(each.job).size() == as_size(std::max(1, each.devices / 4)));
      }
    }
  }
}

TEST_CASE("who can stay stays") {
  const jobs_here here = small_jobs();
  job_world world(here.cluster, here.trace, here.times, here.memory, {});
  kind_layout layout(world);
  for (std::int32_t node = 0; node < 8; ++node) world.places.give(node, node, 2);
  CHECK_FALSE(layout.put(9, {0, 4, 4}));
  std::vector<kind_layout::wish> wishes{{9, 4}};
  for (std::int32_t job = 0; job < 8; ++job) wishes.push_back({job, 2});
  const std::size_t mark = world.places.mark();
  layout.lay_out(0, wishes);
  std::int32_t moved = 0;
  for (std::int32_t job = 0; job < 8; ++job) moved += world.places.pieces(job)[0].node != job ? 1 : 0;
  CHECK(moved == 1);
  CHECK(world.places.changes(mark).size() == 6);
  CHECK(layout.put(10, {0, 2, 2}));
}
