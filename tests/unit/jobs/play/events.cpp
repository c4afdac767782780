// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/policies/policies.hpp>

#include <doctest/doctest.h>

#include <map>

using namespace motet;

namespace {
// Adds up what each job does between two calls, by where it was, and compares.
template <class Policy>
struct integrated {
  Policy policy;
  std::vector<double> done{}, left{};
  double last = 0;
  bool same = true;
  void on_events(job_world& world, const job_events& events) {
    done.resize(world.jobs.size()), left.resize(world.jobs.size(), -1);
    for (std::size_t j = 0; j < before_.size(); ++j) {
      const auto& [seconds, resumes] = before_[j];
      if (seconds > 0) done[j] += std::max(0.0, world.now - std::max(last, resumes)) / seconds;
    }
    for (std::size_t j = 0; j < world.jobs.size(); ++j) {
      const job_state& job = world.jobs[j];
      const double all = world.traced[j].iterations / 5;
      if (job.status != job_status::unknown && std::abs(all - done[j] - job.left) > 1e-6 * all) same = false;
      if (job.status == job_status::finished && job.left != 0) same = false;
    }
    policy.on_events(world, events);
    last = world.now;
  }
  double wakes(const job_world& world) {
    // This is asked behind each call, when changes have been charged.
    before_.assign(world.jobs.size(), {0, 0});
    for (const std::int32_t job : world.running)
      before_[as_size(job)] = {world.speeds.best_seconds(world.of(job).shape, world.of(job).has),
                               world.of(job).resumes};
    if constexpr (requires { policy.wakes(world); }) return policy.wakes(world);
    return event_player::never;
  }

  std::vector<std::pair<double, double>> before_{};
};
// Calls `what(policy)` for each of the nine.
template <class What>
void each_policy(What what) {
  what("fcfs", fcfs_policy{});
  what("gandiva", gandiva_policy{});
  what("tiresias", tiresias_policy{});
  what("elasticflow", elasticflow_policy({}));
  what("elasticflow-ls", elasticflow_policy({.deadlines = false}));
  what("gavel", gavel_policy{});
  what("sia", sia_policy{});
  what("crius", crius_policy{});
  what("motet", motet_policy({.patience = 7200}));
}
jobs_here lone_job(double iterations) {
  jobs_here out;
  out.cluster = {"c", {{"a", 2, 2, 40}}};
  out.times = read_iteration_times(
      "model,params,global_batch,gpu_type,hosts,gpus_per_host,iter_s\nm,1B,100,a,1,2,10\nm,1B,100,a,1,1,25\n",
      "t");
  out.trace.jobs = {{"one", 500, iterations, "m__1B", 90000, 100, 2, 0}};
  return out;
}
event_rules plain() {
  event_rules out;
  out.work_scale = 1;
  out.flat = change_costs{0, 0};
  return out;
}
}  // namespace

TEST_CASE("a job ends when its work is done, to the second") {
  const jobs_here on = lone_job(61);
  job_world world(on.cluster, on.trace, on.times, on.memory, {});
  fcfs_policy policy;
  event_rules rules = plain();
  rules.flat = change_costs{20, 600};
  const job_outcome got = event_player(world, rules).play(policy);
  CHECK(got.finished == std::vector<double>{650});
  CHECK(got.lasted == 650);
  // 40 s of nothing, then 10 samples a second on a half of all devices, in bins of 300 s.
  REQUIRE(got.throughput.size() == 3);
  CHECK(got.throughput[0] == doctest::Approx(10 * 260.0 / 300));
  CHECK(got.throughput[1] == doctest::Approx(10));
  CHECK(got.busy[2] == doctest::Approx(0.5 * 50 / 300));
  // Alone, it took 40 s longer than on what it asked for.
  CHECK(got.unfairness == std::vector<double>{650.0 / 610});
  CHECK(jain_index(got) == doctest::Approx(1));
}

TEST_CASE("a failure takes what was done since the last checkpoint, and a neighbour's only time") {
  const jobs_here on = lone_job(60);
  const auto ends = [&](std::vector<machine_failure> failures, double checkpoint) {
    job_world world(on.cluster, on.trace, on.times, on.memory, {});
    fcfs_policy policy;
    event_rules rules = plain();
    rules.checkpoint = checkpoint;
    const job_outcome got = event_player(world, rules).play(policy, failure_stream(std::move(failures)));
    REQUIRE(got.finished.size() == 1);
    return got.finished[0];
  };
  CHECK(ends({}, 100) == 600);
  CHECK(ends({{250, 0, -1, 1000}}, 100) == 650);  // goes on at once, on the other node
  CHECK(ends({{250, 0, 1, 1000}}, 60) == 610);
  CHECK(ends({{250, 1, -1, 1000}}, 100) == 600);  // hits nobody
  // Both nodes: it waits for the repair.
  CHECK(ends({{250, 0, -1, 1000}, {300, 1, -1, 500}}, 100) == 800 + 350 + 50);
}

TEST_CASE("whoever hears of jobs one at a time gets what the trace gives") {
  const jobs_here here = drawn_jobs(5, 40);
  job_world whole(here.cluster, here.trace, here.times, here.memory, {});
  motet_policy policy, other;
  const job_outcome wanted = event_player(whole, {}).play(policy);
  job_world grows(here.cluster, here.times, here.memory, {});
  grows.now = here.trace.jobs[0].submitted;
  event_player player(grows, {});
  for (const traced_job& each : here.trace.jobs) {
    for (; player.ends() < each.submitted; player.decide(other)) player.move_to(player.ends());
    player.move_to(each.submitted);
    player.submit(each, "here");
    player.decide(other);
  }
  for (; player.ends() < event_player::never; player.decide(other)) player.move_to(player.ends());
  const job_outcome got = player.outcome();
  REQUIRE(got.finished.size() == wanted.finished.size());
  for (std::size_t i = 0; i < got.finished.size(); ++i)
    CHECK(got.finished[i] == doctest::Approx(wanted.finished[i]).epsilon(1e-9));
}

namespace {
// The errors say how wrong policies are about speeds, as the mean of logarithms, each time that one is asked.
struct errors_of_estimates {
  motet_policy policy{};
  std::vector<double> seen{};
  bool measured_are_known = true;

  static double error_of(const job_world& world, motet::isize shape, const allotment& as) {
    return std::abs(std::log(world.speeds.best_seconds(shape, as) / world.actual().best_seconds(shape, as)));
  }
  void on_events(job_world& world, const job_events& events) {
    double sum = 0, count = 0;
    for (std::size_t shape = 0; shape < world.speeds.shapes().size(); ++shape)
      for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
        for (std::int32_t devices = 1; devices <= 16; devices *= 2)
          if (const allotment as = world.speeds.packed(kind, devices);
              world.speeds.best(static_cast<motet::isize>(shape), as).runs)
            sum += error_of(world, static_cast<motet::isize>(shape), as), ++count;
    seen.push_back(sum / count);
    for (const std::int32_t job : world.running)
      if (world.now - world.of(job).resumes > 300 &&
          error_of(world, world.of(job).shape, world.of(job).has) > 1e-3)
        measured_are_known = false;
    policy.on_events(world, events);
  }
};
}  // namespace

TEST_CASE("estimates that are wrong become right by what runs, and progress goes by what is right") {
  const jobs_here here = drawn_jobs(6, 60);
  const auto play = [&](double noise, errors_of_estimates& policy) {
    job_world world(here.cluster, here.trace, here.times, here.memory, {.noise = noise});
    return event_player(world, {}).play(policy);
  };
  errors_of_estimates wrong, right;
  const job_outcome got = play(0.3, wrong), exact = play(0, right);
  CHECK(got.finished.size() == exact.finished.size());
  CHECK(largest_of(right.seen) == 0);
  CHECK(wrong.measured_are_known);
  CHECK(wrong.seen.front() > 0.15);
  CHECK(wrong.seen[wrong.seen.size() / 4] < 0.9 * wrong.seen.front());
  CHECK(wrong.seen.back() < 0.6 * wrong.seen.front());
  // A lone job takes as long as it does, whatever was thought.
  const jobs_here lone = lone_job(60);
  job_world world(lone.cluster, lone.trace, lone.times, lone.memory, {.noise = 0.5});
  fcfs_policy first;
  CHECK(event_player(world, plain()).play(first).finished == std::vector<double>{600});
}

TEST_CASE(
    "under every policy a job's progress is the integral of its speed, and nothing is lost or held twice") {
  for (std::uint64_t seed = 1; seed < 2; ++seed) {
    const jobs_here here = drawn_jobs(seed, 60);
    each_policy([&](const char* name, auto policy) {
      CAPTURE(name);
      CAPTURE(seed);
      job_world world(here.cluster, here.trace, here.times, here.memory, {});
      integrated<watched_policy<decltype(policy)>> watched{{policy}};
      const job_outcome got = event_player(world, {}).play(watched);
      CHECK(watched.policy.wrong == std::vector<std::string>{});
      CHECK(watched.same);
      CHECK(got.submitted == 60);
      job_world again(here.cluster, here.trace, here.times, here.memory, {});
      CHECK(event_player(again, {}).play(policy).finished == got.finished);
    });
  }
}

TEST_CASE("under failures every policy loses no job, and all that can end do") {
  for (std::uint64_t seed = 1; seed < 2; ++seed) {
    const jobs_here here = drawn_jobs(seed, 60);
    each_policy([&](const std::string& name, auto policy) {
      CAPTURE(name);
      CAPTURE(seed);
      job_world world(here.cluster, here.trace, here.times, here.memory, {});
      watched_policy<decltype(policy)> watched{policy};
      const failure_rules often{
          .devices = 400 * 3600.0, .nodes = 200 * 3600.0, .repair = 4 * 3600.0, .seed = seed};
      const job_outcome got = event_player(world, {}).play(
          watched, failure_stream(often, here.cluster.devices(), here.cluster.nodes()));
      CHECK(watched.wrong == std::vector<std::string>{});
      CHECK(got.lost > 0);
      std::size_t dropped = 0;
      for (const job_state& job : world.jobs) dropped += job.status == job_status::dropped ? 1 : 0;
      CHECK(got.finished.size() + got.unfinished.size() + dropped == 60);
      // Some never run what does not fit by data parallelism, or is late; who ends all jobs does so with
      // failures.
      job_world healthy(here.cluster, here.trace, here.times, here.memory, {});
      const bool all = event_player(healthy, {}).play(policy).unfinished.empty();
      CHECK(got.unfinished.empty() == all);
      CHECK((all || name.starts_with("elasticflow") || name == "gavel" || name == "sia"));
    });
  }
}

TEST_CASE("who had which devices, and when, is kept where it is asked for") {
  const jobs_here on = small_jobs();
  job_world world(on.cluster, on.trace, on.times, on.memory, {});
  fcfs_policy policy;
  event_rules rules;
  rules.until = 3 * 3600.0;
  rules.record = true;
  const job_outcome found = event_player(world, rules).play(policy);
  REQUIRE_FALSE(found.spans.empty());
  // No device has two jobs at a time.
  std::map<std::int32_t, double> free_from;
  for (const auto& each : found.spans) {
    CHECK(each.from >= free_from[each.device]);
    CHECK((each.to < 0 || each.to >= each.from));
    free_from[each.device] = each.to < 0 ? rules.until : each.to;
  }
}
