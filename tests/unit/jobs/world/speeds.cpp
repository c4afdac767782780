// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/world/speeds.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
motet::isize shape_of(speed_table& speeds, const char* model, motet::isize batch) {
  traced_job job;
  job.model = model;
  job.batch = batch;
  job.line = 7;
  return speeds.shape_of(job, "trace.csv");
}
}  // namespace

TEST_CASE("speeds are measured, or estimated from the best layout or the next larger size") {
  const job_cluster cluster{"c", {{"a", 8, 4, 40}}};
  const iteration_times times = read_iteration_times(
      "model,params,global_batch,gpu_type,hosts,gpus_per_host,iter_s\n"
      "m,1B,100,a,1,4,10\nm,2B,100,a,1,2,20\nm,2B,100,a,1,1,400\nm,2B,100,a,2,4,-1\n",
      "t.csv");
  data_parallel_memory memory;
  memory.set("m_1B_100", {-1, -1, 20});
  speed_table speeds(cluster, times, memory);
  const motet::isize one = shape_of(speeds, "m__1B", 100), two = shape_of(speeds, "m__2B", 100);
  CHECK(shape_of(speeds, "m__1B", 100) == one);
  CHECK(speeds.best(one, {0, 4, 4}).samples == 10);
  CHECK(speeds.best(one, {0, 4, 2}).samples == doctest::Approx(9));
  CHECK(speeds.best(one, {0, 4, 1}).samples == doctest::Approx(8.1));
  CHECK(speeds.best_seconds(one, {0, 4, 2}) == doctest::Approx(11.111));
  CHECK(speeds.best(one, {0, 2, 2}).samples == doctest::Approx(9));  // 1.8 times that of 2B
  CHECK_FALSE(speeds.best(two, {0, 1, 1}).runs);                     // takes too long
  CHECK_FALSE(speeds.best(two, {0, 8, 4}).runs);
  CHECK_FALSE(speeds.best(two, {0, 4, 4}).runs);
  CHECK(speeds.data_parallel(one, {0, 4, 4}).runs);
  CHECK_FALSE(speeds.data_parallel(one, {0, 2, 2}).runs);
  CHECK(speeds.bound(one, 0, 4) == 10);
  CHECK(speeds.packed(0, 16) == allotment{0, 16, 4});
  CHECK(speeds.packed(0, 2) == allotment{0, 2, 2});
  CHECK_THROWS_AS(shape_of(speeds, "m__3B", 100), error);
  try {
    shape_of(speeds, "x__1B", 100);
    FAIL("was known");
  } catch (const error& problem) {
    CHECK(std::string(problem.what()).find("trace.csv, line 7, column model_name: got \"x__1B\"") !=
          std::string::npos);
    CHECK(std::string_view(problem.code()) == "MT-J05");
  }
  // A batch of which nothing is known is refused; nothing is left of it behind that.
  for (int twice = 0; twice < 2; ++twice)
    CHECK_THROWS_WITH_AS(
        shape_of(speeds, "m__1B", 64),
        doctest::Contains(
            "trace.csv, line 7, column batch_size: of \"m__1B\" with a batch of 64, or a larger size, "
            "the times have nothing on the kinds of c; of all kinds they have batches of 100"),
        error);
  CHECK(speeds.shapes().size() == 2);
  CHECK(to_thousandths(0.0625) == 0.062);
  CHECK(to_thousandths(1.2345678) == 1.235);
}

TEST_CASE("more devices of our own table are never slower for the best layout") {
  const jobs_here here = small_jobs();
  speed_table speeds(here.cluster, here.times, here.memory);
  const motet::isize shape = shape_of(speeds, "tower__500M", 128);
  for (std::int32_t kind = 0; kind < 3; ++kind)
    for (std::int32_t devices = 1; devices < 16; devices *= 2)
      CHECK(speeds.best(shape, speeds.packed(kind, 2 * devices)).samples >
            speeds.best(shape, speeds.packed(kind, devices)).samples);
}

TEST_CASE(
    "estimated times have bars, and what was measured of a model on a kind corrects all of them there") {
  const job_cluster cluster{"c", {{"a", 8, 4, 40}, {"b", 8, 4, 40}}};
  iteration_times times;
  for (const char* const kind : {"a", "b"}) {
    times.add({"m", "1B", 100, kind, 1, 1}, {20, 0, 8});
    times.add({"m", "1B", 100, kind, 1, 2}, {10, 0, 4});
  }
  times.add({"m", "1B", 100, "a", 1, 4}, {5, 0, 0});  // measured
  const data_parallel_memory memory;
  speed_table speeds(cluster, times, memory);
  const motet::isize one = shape_of(speeds, "m__1B", 100);
  CHECK(speeds.best(one, {0, 1, 1}).bar == doctest::Approx(5 - 100.0 / 28));
  CHECK(speeds.best_seconds(one, {0, 1, 1}) == 20);
  CHECK(speeds.cautious_seconds(one, {0, 1, 1}) == doctest::Approx(28));
  CHECK(speeds.cautious_seconds(one, {0, 4, 4}) == speeds.best_seconds(one, {0, 4, 4}));
  CHECK(speeds.cautious_seconds(one, {0, 8, 4}) == 1e9);
  speeds.learn(one, {0, 1, 1}, 30);
  CHECK(speeds.best_seconds(one, {0, 1, 1}) == doctest::Approx(29.8).epsilon(0.02));
  CHECK(speeds.best_seconds(one, {0, 2, 2}) == doctest::Approx(14.9).epsilon(0.02));
  CHECK(speeds.best(one, {0, 2, 2}).bar < 0.5);
  CHECK(speeds.bound(one, 0, 2) == speeds.best(one, {0, 2, 2}).samples);
  CHECK(speeds.best(one, {0, 4, 4}).samples == 20);
  CHECK(speeds.best_seconds(one, {1, 1, 1}) == 20);  // another kind
  speeds.learn(one, {0, 4, 4}, 50);                  // what is measured teaches nothing
  CHECK(speeds.best_seconds(one, {0, 4, 4}) == 5);
}
