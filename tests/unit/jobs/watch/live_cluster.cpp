// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/watch/live_cluster.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
job_line submit(const char* id, motet::isize devices) {
  job_line out;
  out.job = {id, 0, 1000, "m__1B", 0, 100, devices, 0};
  return out;
}
job_line of(job_event event, const char* id) {
  job_line out;
  out.event = event;
  out.job.id = id;
  return out;
}
job_line of_node(job_event event, std::int32_t node) {
  job_line out;
  out.event = event;
  out.node = node;
  return out;
}
struct lab {
  explicit lab(const std::string& policy = "fcfs") : live{world, live_policy_of({.policy = policy})} {}
  job_cluster cluster{"lab", {{"a", 2, 2, 40}}};
  iteration_times times = read_iteration_times(
      "model,params,global_batch,gpu_type,hosts,gpus_per_host,iter_s\nm,1B,100,a,1,2,10\nm,1B,100,a,1,1,"
      "20\nm,1B,100,a,2,2,6\n",
      "t");
  data_parallel_memory memory;
  job_site site = usual_site(cluster);
  job_world world{cluster, times, memory, {}};
  live_cluster live;
};
}  // namespace

TEST_CASE("jobs begin, end when it is told, and go elsewhere when nodes are lost") {
  lab here;
  REQUIRE(here.live.take(submit("one", 2), 5, "f").size() == 1);
  REQUIRE(here.live.take(submit("two", 2), 6, "f").size() == 1);
  CHECK(here.live.take(submit("three", 2), 7, "f").empty());
  // One thousand iterations of ten seconds, and nobody says that they are done.
  CHECK(here.live.take(submit("four", 4), 1e6, "f").empty());
  CHECK(here.world.of(0).status == job_status::running);
  CHECK(here.world.of(0).left == 1);
  const auto next = here.live.take(of(job_event::finish, "one"), 1e6 + 1, "f");
  REQUIRE(next.size() == 1);
  CHECK(next[0].what == job_change_kind::start);
  CHECK(next[0].job == 2);
  CHECK(
      change_line(next[0], 3, here.world, here.site) ==
      R"({"change": 3, "time": 1000001.0, "do": "start", "job": "three", "kind": "a", "devices": 2, "on": [{"host": "a-0", "devices": [0, 1]}]})");
  const auto stopped = here.live.take(of_node(job_event::lost, 0), 1e6 + 2, "f");
  REQUIRE(stopped.size() == 1);
  CHECK(stopped[0].what == job_change_kind::stop);
  const auto back = here.live.take(of_node(job_event::back, 0), 1e6 + 3, "f");
  REQUIRE(back.size() == 1);
  CHECK(back[0].job == 2);
  CHECK(here.live.take(of(job_event::finish, "four"), 1e6 + 4, "f").empty());
  CHECK(here.world.waiting.empty());
}

TEST_CASE("what is told of progress counts") {
  lab here;
  here.live.take(submit("one", 2), 0, "f");
  job_line told = of(job_event::progress, "one");
  told.left = 500, told.seconds = 4;
  here.live.take(told, 100, "f");
  here.live.take(submit("two", 2), 500, "f");
  CHECK(here.world.of(0).left == 400);
}

TEST_CASE("lines that cannot be true change nothing") {
  lab here;
  here.live.take(submit("one", 2), 5, "f");
  const auto refused = [&](const job_line& line, const char* says) {
    CHECK_THROWS_WITH_AS(here.live.take(line, 6, "f"), doctest::Contains(says), error);
  };
  refused(submit("one", 2), "was submitted before");
  refused(of(job_event::finish, "nobody"), "is not known");
  refused(of_node(job_event::back, 1), "was not lost");
  job_line other = submit("two", 2);
  other.job.model = "n__1B";
  refused(other, "[MT-J05]");
  CHECK(here.world.now == 5);
  CHECK(here.world.jobs.size() == 1);
  here.live.take(of_node(job_event::lost, 1), 7, "f");
  refused(of_node(job_event::lost, 1), "lost already");
  here.live.take(of(job_event::finish, "one"), 8, "f");
  refused(of(job_event::progress, "one"), "not there any more");
}

TEST_CASE("a job that waits and is taken back is started by nobody, and who stood behind it goes on") {
  for (const std::string_view policy : policy_names) {
    CAPTURE(policy);
    lab here{std::string(policy)};
    // The large one runs nowhere beside the other three, whatever these have.
    job_line large = submit("large", 4);
    here.live.take(submit("one", 2), 0, "f");
    here.live.take(submit("two", 2), 1, "f");
    for (int n = 0; n < 3; ++n) here.live.take(submit(("more " + std::to_string(n)).c_str(), 2), 2 + n, "f");
    here.live.take(large, 6, "f");
    std::vector<std::int32_t> taken_back = here.world.waiting;
    REQUIRE(!taken_back.empty());
    for (const std::int32_t job : taken_back)
      here.live.take(of(job_event::finish, here.world.traced[as_size(job)].id.c_str()), 7, "f");
    for (const char* const name : {"one", "two"}) {
      if (here.world.of(name == std::string("one") ? 0 : 1).status != job_status::running) continue;
      for (const job_change& each : here.live.take(of(job_event::finish, name), 8, "f"))
        CHECK(std::find(taken_back.begin(), taken_back.end(), each.job) == taken_back.end());
    }
    for (const std::int32_t job : taken_back) CHECK(here.world.of(job).status == job_status::finished);
  }
  lab here;
  here.live.take(submit("one", 2), 0, "f");
  here.live.take(submit("blocks", 4), 1, "f");
  CHECK(here.live.take(submit("behind", 2), 2, "f").empty());
  const auto next = here.live.take(of(job_event::finish, "blocks"), 3, "f");
  REQUIRE(next.size() == 1);
  CHECK(next[0].job == 2);
}
