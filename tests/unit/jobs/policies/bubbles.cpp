// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/policies/bubbles.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
const auto always = [](const allotment&) { return true; };
}

TEST_CASE("gaps are moved together where no node has room, and that can be foreseen") {
  const jobs_here here = small_jobs();
  job_world world(here.cluster, here.trace, here.times, here.memory, {});
  bubble_placer placer(world);
  occupancy& places = world.places;
  // All nodes of the first kind have one job of two devices, so none is free.
  for (std::int32_t node = 0; node < 8; ++node) places.give(node, node, 2);
  const std::size_t mark = places.mark();
  const bubble_placer::outlook seen = placer.look(0, 4, 100);
  CHECK(places.mark() == mark);
  CHECK(seen.moves == 1);
  const bubble_answer got = placer.place(20, 0, 4, 100, always);
  CHECK(got.fits);
  CHECK_FALSE(got.relaxed);
  CHECK(got.moves_left == 99);
  CHECK(places.devices_of(20) == 4);
  for (std::int32_t job = 0; job < 8; ++job) {
    CHECK(places.pieces(job).size() == 1);
    CHECK(places.devices_of(job) == 2);
  }
  places.undo(mark);
  CHECK(places.free_of(0) == 16);
}

TEST_CASE("where nothing can be moved, a job is spread over more nodes, as far as it runs so") {
  const jobs_here here = small_jobs();
  job_world world(here.cluster, here.trace, here.times, here.memory, {});
  bubble_placer placer(world);
  occupancy& places = world.places;
  // One job of three devices on each node, which cannot be joined.
  for (std::int32_t node = 0; node < 8; ++node) places.give(node, node, 3);
  const bubble_placer::outlook seen = placer.look(0, 4, 100);
  CHECK(seen.moves == -1);
  CHECK(seen.spread == 1);
  CHECK(placer.answer(seen, 0, 4, 100, always).as == allotment{0, 4, 1});
  CHECK_FALSE(placer.answer(seen, 0, 4, 100, [](const allotment& as) { return as.per_node > 1; }).fits);
  const bubble_answer got = placer.place(20, 0, 4, 100, always);
  CHECK(got.relaxed);
  CHECK(got.moves_left == 0);
  CHECK(places.pieces(20).size() == 4);
  CHECK_FALSE(placer.place(21, 0, 8, 100, always).fits);
}
