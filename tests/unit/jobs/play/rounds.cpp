// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/play/rounds.hpp>
#include <motet/jobs/policies/fcfs.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
// One job of 10 s an iteration, alone.
jobs_here lone_job(double iterations) {
  jobs_here out;
  out.cluster = {"c", {{"a", 1, 2, 40}}};
  out.times = read_iteration_times(
      "model,params,global_batch,gpu_type,hosts,gpus_per_host,iter_s\nm,1B,100,a,1,2,10\nm,1B,100,a,1,1,25\n",
      "t");
  out.trace.jobs = {{"one", 500, iterations, "m__1B", 90000, 100, 2, 0}};
  return out;
}
// This policy gives the job one device for a round, and two from then on.
struct late_second {
  void on_events(job_world& world, const job_events& events) {
    if (!events.arrived.empty()) {
      world.places.give(0, 0, 1);
      world.start(0);
    } else if (world.now > 500 && !world.running.empty()) {
      world.places.give(0, 0, 2);
      world.read_places();
    }
  }
};
double ends(progress_count count, double iterations) {
  const jobs_here on = lone_job(iterations);
  job_world world(on.cluster, on.trace, on.times, on.memory, {});
  round_rules rules;
  rules.count = count;
  rules.work_scale = 1;
  rules.costs = {0, 0};
  round_player player(world, rules);
  late_second policy;
  const job_outcome got = player.play(policy);
  return got.finished.size() == 1 ? got.finished[0] : -1;
}
struct forgetful {
  void on_events(job_world& world, const job_events& events) {
    for (const std::int32_t job : events.arrived) world.start(job);
  }
};
}  // namespace

TEST_CASE("progress is the integral of speed, or all time at the speed of now") {
  // 12 iterations in the first round, 30 in each other one.
  CHECK(ends(progress_count::correct, 42) == 600);
  CHECK(ends(progress_count::correct, 43) == 900);
  CHECK(ends(progress_count::uncharged, 42) == 600);
  CHECK(ends(progress_count::uncharged, 43) == 900);
  // The artifact counts the first round again, at the later speed.
  CHECK(ends(progress_count::artifact, 43) == 600);
  CHECK(ends(progress_count::artifact, 60) == 600);
  CHECK(ends(progress_count::artifact, 61) == 900);
}

TEST_CASE("a quotient is whole as Python has it") {
  CHECK(motet::detail::whole_quotient(300, 0.1) == 2999);
  CHECK(motet::detail::whole_quotient(900, 4.5) == 200);
  CHECK(motet::detail::whole_quotient(899, 4.5) == 199);
}

TEST_CASE("a change costs all of its seconds, or throughput alone and whole rounds, as published") {
  const jobs_here on = lone_job(60);
  job_world world(on.cluster, on.trace, on.times, on.memory, {});
  round_rules rules;
  rules.work_scale = 1;
  rules.costs = {400, 1000};
  rules.record = true;
  rules.count = progress_count::uncharged;
  round_player player(world, rules);
  fcfs_policy policy;
  const job_outcome got = player.play(policy);
  // 800 s for two devices: nothing in two rounds, a third of the next, which counts as a round of progress.
  REQUIRE(got.throughput.size() >= 4);
  CHECK(got.throughput[0] == 0);
  CHECK(got.throughput[1] == 0);
  CHECK(got.throughput[2] == doctest::Approx(10.0 / 3).epsilon(1e-3));
  CHECK(got.throughput[3] == 10);
  CHECK(got.finished == std::vector<double>{1200});
  CHECK(got.reschedules == 1);
  REQUIRE(got.spans.size() == 2);
  CHECK(got.spans[1].from == 0);
  CHECK(got.spans[1].to == 1200);
  // 800 s and 600 of work end within the fifth round.
  job_world again(on.cluster, on.trace, on.times, on.memory, {});
  rules.count = progress_count::correct;
  CHECK(round_player(again, rules).play(policy).finished == std::vector<double>{1500});
}

TEST_CASE("a policy that loses devices is told so") {
  const jobs_here on = small_jobs();
  job_world world(on.cluster, on.trace, on.times, on.memory, {});
  round_player player(world, {});
  forgetful policy;
  try {
    player.play(policy);
    FAIL("was played");
  } catch (const error& problem) {
    CHECK(std::string_view(problem.code()) == "MT-J11");
    CHECK(std::string(problem.what()).find("job-000") != std::string::npos);
  }
}

TEST_CASE("work is conserved: what runs at one speed ends when its work is done") {
  const watched_play got = watch(drawn_jobs(3, 60), fcfs_policy{});
  CHECK(got.wrong.empty());
  CHECK(got.outcome.submitted == 60);
  CHECK(got.outcome.unfinished.empty());
}
