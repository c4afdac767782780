// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/policies/crius_fit.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
// A job that has all of one kind, and another one that asks for half of it.
struct full_kind {
  job_cluster cluster{"c", {{"a", 1, 4, 40}, {"b", 1, 4, 40}}};
  iteration_times times = read_iteration_times(
      "model,params,global_batch,gpu_type,hosts,gpus_per_host,iter_s\n"
      "m,1B,100,a,1,4,10\nm,1B,100,a,1,2,18\nm,1B,100,a,1,1,40\nm,1B,100,b,1,2,20\nm,1B,100,b,1,4,16\n",
      "t");
  job_trace trace{{{"x", 0, 100, "m__1B", 9, 100, 4, 0}, {"y", 0, 100, "m__1B", 9, 100, 2, 0}}, "trace.csv"};
  data_parallel_memory memory;
  job_world world{cluster, trace, times, memory, {}};

  full_kind() {
    world.places.give(0, 0, 4);
    world.start(0);
  }
};
}  // namespace

TEST_CASE("room is made by halving or by another kind, whatever computes most") {
  full_kind with;
  crius_fitter fitter(with.world, {});
  std::int32_t moves = crius_fitter::moves_of_round;
  CHECK(fitter.gain(0, {0, 2, 2}, {0, 4, 4}) == doctest::Approx(100.0 / 18 - 10).epsilon(1e-3));
  CHECK(fitter.gain(0, {1, 1, 1}, {0, 4, 4}) == crius_fitter::none);
  REQUIRE(fitter.fit(1, moves));
  // 10 and 5 samples a second on two kinds; halved, 5.6 each.
  CHECK(with.world.places.devices_of(0) + with.world.places.devices_of(1) >= 4);
  const bool other_kind = with.world.placed(1, with.world.of(1).has).kind == 1;
  CHECK(other_kind);
}

TEST_CASE("without other kinds, somebody is halved; without that, there is no room") {
  full_kind with;
  std::int32_t moves = crius_fitter::moves_of_round;
  {
    const std::size_t mark = with.world.places.mark();
    crius_fitter fitter(with.world, {.types = false});
    REQUIRE(fitter.fit(1, moves));
    CHECK(with.world.places.devices_of(0) == 2);
    // The first step is the one that costs least, and that is to ask for one less.
    CHECK(with.world.places.devices_of(1) == 1);
    with.world.places.undo(mark);
  }
  crius_fitter fitter(with.world, {.types = false, .scaling = false});
  const std::size_t mark = with.world.places.mark();
  CHECK_FALSE(fitter.fit(1, moves));
  CHECK(with.world.places.mark() == mark);
  CHECK(with.world.places.devices_of(0) == 4);
}
