// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/format/text/json_read.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/jobs/watch/kept_world.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
struct lab {
  job_cluster cluster{"lab", {{"a", 2, 2, 40}, {"b", 1, 4, 40}}};
  iteration_times times;
  data_parallel_memory memory;
  lab() {
    for (const device_group& kind : cluster.kinds)
      for (motet::isize devices = 1; devices <= kind.per_node; devices *= 2)
        times.add({"m", "1B", 100, kind.kind, 1, devices},
                  {20.0 / static_cast<double>(devices), 0, 4.0 / static_cast<double>(devices)});
  }
};
}  // namespace

TEST_CASE("a world is read back with its jobs, its queues, its devices and what was learnt of speeds") {
  lab here;
  job_world had(here.cluster, here.times, here.memory, {}), has(here.cluster, here.times, here.memory, {});
  for (const char* const name : {"runs", "ended", "waits"})
    had.wait(had.add({name, 5, 1000, "m__1B", 9000, 100, 2, 0}, "drawn"));
  had.now = 7.25;
  for (const std::int32_t job : {0, 1}) {
    had.places.give(job, job, 2);
    had.start(job);
  }
  had.of(0).left = 1.0 / 3;
  had.places.release(1);
  had.finish(1, 8);
  had.places.take_out(2);
  had.places.settle();
  had.speeds.learn(0, {0, 2, 2}, 31);
  REQUIRE(had.speeds.learnt().size() == 1);

  const json state = read_json(write_json(kept_world(had)), "state");
  read_world_back(state, has);
  CHECK(kept_world(has) == state);
  CHECK(has.now == 7.25);
  CHECK(has.running == had.running);
  CHECK(has.waiting == had.waiting);
  CHECK(has.of(0).left == 1.0 / 3);
  CHECK(has.of(1).status == job_status::finished);
  CHECK(has.traced[1].id == "ended");
  CHECK(has.places.is_broken(2));
  CHECK(has.places.usable_of(1) == 0);
  CHECK(has.places.free_of(0) == 2);
  CHECK(has.places.devices_of(0) == 2);
  for (std::int32_t kind = 0; kind < 2; ++kind)
    for (std::int32_t devices = 1; devices <= 2; devices *= 2) {
      const allotment as = had.speeds.packed(kind, devices);
      CHECK(has.speeds.cautious_seconds(0, as) == had.speeds.cautious_seconds(0, as));
      CHECK(has.speeds.best_seconds(0, as) == had.speeds.best_seconds(0, as));
    }

  ++here.cluster.kinds[1].nodes;
  job_world larger(here.cluster, here.times, here.memory, {});
  CHECK_THROWS_WITH_AS(read_world_back(state, larger), doctest::Contains("owners: got 8, the cluster has 12"),
                       error);
}
