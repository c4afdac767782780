// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/play/events.hpp>
#include <motet/jobs/policies/crius.hpp>
#include <motet/jobs/policies/motet_policy.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
// Notes the longest time that anybody waited in all, and what is not as promised.
struct patient {
  motet_policy policy;
  double patience;
  double longest = 0;
  std::size_t promised = 0;
  std::vector<std::string> broken{};

  void on_events(job_world& world, const job_events& events) {
    const std::vector<device_promises::pledge> before = policy.pledges();
    std::int32_t oldest = -1;
    for (const std::int32_t job : world.waiting)
      if (world.of(job).waited >= patience && (oldest < 0 || job < oldest)) oldest = job;
    policy.on_events(world, events);
    const std::vector<device_promises::pledge>& now = policy.pledges();
    std::size_t at = 0;
    for (const device_promises::pledge& each : before) {
      if (world.of(each.job).status == job_status::finished) continue;
      if (at == now.size() || now[at].job != each.job)
        broken.push_back("a promise is forgotten, or not in turn");
      ++at;
    }
    promised = std::max(promised, now.size());
    std::vector<std::int32_t> set_aside(as_size(world.places.kinds())), many = set_aside;
    for (const device_promises::pledge& each : now) {
      if (world.of(each.job).status != job_status::running)
        broken.push_back("who was promised devices waits");
      set_aside[as_size(each.least.kind)] += each.least.devices;
      ++many[as_size(each.least.kind)];
    }
    // Of a kind, promises may have a quarter together, or one of them all.
    const auto quarter = [&](std::int32_t kind) { return world.places.usable_of(kind) / 4; };
    for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
      if (set_aside[as_size(kind)] >
          (many[as_size(kind)] == 1 ? world.places.usable_of(kind) : quarter(kind)))
        broken.push_back("more is promised than may be");
    for (const std::int32_t job : world.waiting) longest = std::max(longest, world.of(job).waited);
    const bool happened = !events.arrived.empty() || events.frees();
    if (!happened || oldest < 0 || world.of(oldest).status != job_status::waiting) return;
    // The oldest waits only where no kind has what it runs on beside what is promised.
    for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind) {
      const std::int32_t room =
          many[as_size(kind)] == 0 ? world.places.usable_of(kind) : quarter(kind) - set_aside[as_size(kind)];
      for (std::int32_t devices = 1; devices <= std::min(room, 16); devices *= 2)
        if (world.speeds.best(world.of(oldest).shape, world.speeds.packed(kind, devices)).runs)
          broken.push_back("the oldest waits beside devices that it could be promised");
    }
  }
};

// Notes of each job that waited past its patience how many were there before it, and when it was promised
// devices.
struct in_line {
  motet_policy policy;
  double patience;
  struct turn {
    double since = -1, promised = -1;
    double before = 0;
  };
  std::vector<turn> turns{};

  void on_events(job_world& world, const job_events& events) {
    turns.resize(world.jobs.size());
    for (const std::int32_t job : world.waiting) {
      turn& own = turns[as_size(job)];
      if (own.since >= 0 || world.of(job).waited < patience) continue;
      own.since = world.now;
      for (const auto* queue : {&world.running, &world.waiting})
        own.before += static_cast<double>(
            std::count_if(queue->begin(), queue->end(), [&](std::int32_t other) { return other < job; }));
    }
    policy.on_events(world, events);
    for (const device_promises::pledge& each : policy.pledges())
      if (turn& own = turns[as_size(each.job)]; own.promised < 0) own.promised = world.now;
  }
  double wakes(const job_world& world) const { return policy.wakes(world); }
};
}  // namespace

TEST_CASE("jobs end earlier than under crius, on our table and on drawn ones") {
  double ours = 0, theirs = 0;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const jobs_here here = seed == 0 ? small_jobs() : drawn_jobs(seed, 100);
    const watched_play got = watch(here, motet_policy{}), other = watch(here, crius_policy{});
    CHECK(got.wrong.empty());
    CHECK(got.outcome.unfinished.empty());
    ours += censored_completion(got.outcome), theirs += censored_completion(other.outcome);
  }
  CHECK(ours < theirs);
}

TEST_CASE("choices are close to their bounds, even where a job can take half of a kind") {
  const jobs_here here = small_jobs();
  // Where much is promised, little is left to choose, and the bound is loose once in a while.
  for (const double patience : {43200.0, 1e9}) {
    job_world world(here.cluster, here.trace, here.times, here.memory, {});
    round_player player(world, {});
    motet_policy policy({.patience = patience});
    player.play(policy);
    CHECK(policy.choices_made() > 100);
    CHECK(policy.mean_gap() < 0.05);
    CHECK(policy.worst_gap() < (patience < 1e9 ? 0.7 : 0.1));
  }
}

TEST_CASE("promises are kept in the order in which they were made, and the oldest waits for nothing else") {
  const auto longest = [&](std::uint64_t seed, double patience) {
    const jobs_here here = drawn_jobs(seed, 150);
    watched_policy<patient> policy{patient{motet_policy({.patience = patience}), patience}};
    job_world world(here.cluster, here.trace, here.times, here.memory, {});
    round_player player(world, {});
    player.play(policy);
    CHECK(policy.wrong.empty());
    CHECK(policy.policy.broken == std::vector<std::string>{});
    CHECK((policy.policy.promised > 0) == (patience < 1e9));
    return policy.policy.longest;
  };
  const double never = longest(2, 1e9), soon = longest(2, 7200);
  CHECK(never > 7200);
  CHECK(soon < never);
  // Little patience: nearly all are promised devices, and stand in line for them.
  for (std::uint64_t seed = 3; seed < 8; ++seed) longest(seed, seed % 2 == 0 ? 600 : 3000);
}

TEST_CASE("the n-th oldest starts behind its patience when n longest runs have passed") {
  constexpr double patience = 7200, of_change = 40;
  std::size_t waited = 0;
  double tightest = 0;
  for (std::uint64_t seed = 11; seed < 17; ++seed) {
    const jobs_here here = drawn_jobs(seed, 200);
    job_world world(here.cluster, here.trace, here.times, here.memory, {});
    event_rules rules;
    rules.flat = change_costs{10, of_change};
    in_line policy{motet_policy({.patience = patience}), patience};
    event_player player(world, rules);
    player.play(policy);
    // From the promise to the end: no longer than with the slowest devices on which the job runs.
    double longest = 0;
    for (std::size_t j = 0; j < policy.turns.size(); ++j) {
      if (policy.turns[j].promised < 0) continue;
      const job_state& job = world.jobs[j];
      double slowest = 0;
      for (std::int32_t kind = 0; kind < world.places.kinds(); ++kind)
        for (std::int32_t devices = 1; devices <= 16; devices *= 2)
          if (const allotment as = world.speeds.packed(kind, devices); world.speeds.best(job.shape, as).runs)
            slowest = std::max(slowest, world.speeds.best_seconds(job.shape, as));
      const double took = job.ended - policy.turns[j].promised;
      CHECK(took <= here.trace.jobs[j].iterations / rules.work_scale * slowest +
                        of_change * static_cast<double>(job.changes) + 1);
      longest = std::max(longest, took);
    }
    for (std::size_t j = 0; j < policy.turns.size(); ++j) {
      const in_line::turn& own = policy.turns[j];
      if (own.since < 0) continue;
      // A job may also have started without a promise.
      const double until = own.promised >= 0 ? own.promised : world.jobs[j].ended;
      CHECK(until - own.since <= (own.before + 1) * longest);
      tightest = std::max(tightest, (until - own.since) / ((own.before + 1) * longest));
      ++waited;
    }
  }
  CHECK(waited > 100);
  MESSAGE("jobs that waited past their patience: ", waited, "; nearest to the bound, as a share: ", tightest);
}

TEST_CASE("where thousands wait an event is about few of them, and nothing is lost by it") {
  const auto play = [](double late) {
    jobs_here here = drawn_jobs(21, 1500);
    // Ten times as many as can be served come.
    for (traced_job& each : here.trace.jobs) each.submitted /= 10;
    struct counted {
      motet_policy policy;
      std::size_t waited = 0, called = 0;
      void on_events(job_world& world, const job_events& events) {
        policy.on_events(world, events);
        waited = std::max(waited, world.waiting.size());
        called = std::max(called, policy.called());
      }
      double wakes(const job_world& world) const { return policy.wakes(world); }
    } policy{motet_policy({.late = late})};
    job_world world(here.cluster, here.trace, here.times, here.memory, {});
    event_rules rules;
    rules.until = 150000;
    const job_outcome got = event_player(world, rules).play(policy);
    const std::size_t devices = as_size(here.cluster.devices());
    CHECK(policy.waited > 900);
    if (late == 1) CHECK(policy.called <= devices * (world.speeds.shapes().size() + 2) + 1);
    MESSAGE("waited ", policy.waited, ", called ", policy.called, ", finished ", got.finished.size());
    return got;
  };
  // With a rule for late jobs, be it one that changes nothing, all are called.
  const job_outcome few = play(1), all = play(1 - 1e-12);
  CHECK(static_cast<double>(few.finished.size()) ==
        doctest::Approx(static_cast<double>(all.finished.size())).epsilon(0.02));
  CHECK(censored_completion(few) == doctest::Approx(censored_completion(all)).epsilon(0.02));
}
