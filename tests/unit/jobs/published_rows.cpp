// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/policies/policies.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <optional>

using namespace motet;

// The rows C1 to C12 of docs/jobs/jobs.md on the trace that the artifact of Crius publishes: 2,000 rounds,
// 986 jobs. They are left out where MOTET_JOBS_DATA names no folder that has it.
namespace {
struct published {
  job_cluster cluster;
  job_trace trace;
  iteration_times times;
  data_parallel_memory memory;

  job_outcome in_rounds(const std::string& policy, progress_count count, const std::string& without = "",
                        std::int32_t depth = 0) const {
    policy_question asked;
    asked.policy = policy;
    if (!without.empty()) asked.without = {without};
    asked.depth = depth;
    asked.count = count;
    asked.rounds = 2000;
    return play_policy(asked, cluster, trace, times, memory).outcome;
  }
  job_outcome between_events(const std::string& policy, std::int32_t depth = 0, double noise = 0) const {
    policy_question asked;
    asked.policy = policy;
    asked.depth = depth;
    asked.noise = noise;
    asked.until = 600000;
    return play_policy(asked, cluster, trace, times, memory).outcome;
  }
};
// On one of the clusters with names, whose only kind may stand for all kinds of the trace.
std::optional<published> published_on(std::size_t cluster, const std::string& stands_for_all = "") {
  const char* const folder = std::getenv("MOTET_JOBS_DATA");
  if (folder == nullptr) {
    MESSAGE("skipped: MOTET_JOBS_DATA names no folder");
    return std::nullopt;
  }
  const std::string at = std::string(folder) + "/";
  const std::vector<job_cluster> known = known_job_clusters();
  std::vector<kind_name> stand_in;
  if (!stands_for_all.empty())
    for (const device_group& each : known[0].kinds) stand_in.push_back({each.kind, stands_for_all});
  published out;
  out.cluster = known[cluster];
  out.trace =
      read_job_trace(read_text(at + "arena_simulate_trace_philly.csv"), "philly", out.cluster, stand_in);
  out.times = read_iteration_times(read_text(at + "crius_iter_times.csv"), "times");
  out.memory = read_data_parallel_memory(read_text(at + "arena_dp_mem.json"), "memory");
  return out;
}
bool within(double got, double wanted, double share) { return std::abs(got - wanted) <= share * wanted; }
}  // namespace

TEST_CASE("C1, C2, C3, C5: the artifact's files come out to the last job") {
  const auto of = published_on(0);
  if (!of) return;
  struct row {
    const char *policy, *without;
    std::size_t finished;
    double completion, queue, mean, peak;
  };
  for (const row& each :
       {row{"fcfs", "", 590, 83192, 46451, 4367, 6953},
        row{"elasticflow-ls", "", 573, 55515, 80229, 4623, 9589},
        row{"gandiva", "", 608, 78455, 41618, 4612, 7573}, row{"crius", "", 828, 41648, 29, 6771, 10994},
        row{"crius", "types", 689, 61826, 11917, 5597, 9026},
        row{"crius", "scaling", 789, 56204, 1325, 6337, 10480},
        row{"crius", "pruning", 836, 43961, 24, 6628, 11329}}) {
    CAPTURE(each.policy);
    CAPTURE(each.without);
    const job_outcome got = of->in_rounds(each.policy, progress_count::artifact, each.without);
    CHECK(got.submitted == 986);
    CHECK(got.finished.size() == each.finished);
    CHECK(std::abs(mean_of(got.finished) - each.completion) < 0.6);
    CHECK(std::abs(mean_of(got.waited) - each.queue) < 0.6);
    CHECK(std::abs(mean_of(got.throughput) - each.mean) < 1);
    CHECK(std::abs(largest_of(got.throughput) - each.peak) < 1);
  }
}

TEST_CASE(
    "C4, C10: reductions as published, with padding and without; gavel and sia within what is told of them") {
  const auto of = published_on(0);
  if (!of) return;
  const auto play = [&](const char* policy) { return of->in_rounds(policy, progress_count::artifact); };
  const job_outcome crius = play("crius"), first = play("fcfs"), elastic = play("elasticflow-ls");
  const double longest = largest_of(first.finished), own = mean_of(crius.finished);
  const auto padded = [&](const job_outcome& other) {
    return 1 - own / padded_completion(other, crius.finished.size(), longest);
  };
  CHECK(std::abs(padded(first) - 0.813) < 0.001);
  CHECK(std::abs(padded(elastic) - 0.805) < 0.001);
  CHECK(std::abs(1 - own / mean_of(first.finished) - 0.499) < 0.001);
  CHECK(std::abs(1 - own / mean_of(elastic.finished) - 0.250) < 0.001);
  // Ours are stronger than the published ones: gavel finishes as many sooner, sia many more.
  const job_outcome gavel = play("gavel"), sia = play("sia");
  CHECK(within(static_cast<double>(gavel.finished.size()), 642, 0.05));
  CHECK(mean_of(gavel.finished) < 64879);
  CHECK(mean_of(gavel.throughput) > 5039);
  CHECK(sia.finished.size() > 633);
  CHECK(mean_of(sia.finished) < 44394);
  CHECK(mean_of(sia.throughput) > 5017);
  // What was published for them by padding is what crius gains over weaker ones.
  CHECK(padded(gavel) < 0.766);
  CHECK(padded(sia) < 0.752);
}

TEST_CASE("C6: progress that is counted correctly leaves the order of policies as it was") {
  const auto of = published_on(0);
  if (!of) return;
  const job_outcome flow = of->in_rounds("elasticflow-ls", progress_count::uncharged);
  CHECK(flow.finished.size() == 578);
  CHECK(std::abs(mean_of(flow.finished) - 59094) < 0.6);
  for (const progress_count count : {progress_count::artifact, progress_count::uncharged}) {
    std::size_t before = 987;
    for (const char* const policy : {"motet", "crius", "sia", "gavel", "gandiva", "fcfs", "elasticflow-ls"}) {
      CAPTURE(policy);
      const std::size_t now = of->in_rounds(policy, count).finished.size();
      CHECK(now < before);
      before = now;
    }
  }
}

TEST_CASE("C7: the depth of the search of crius does not do what was published for it") {
  const auto of = published_on(0);
  if (!of) return;
  const auto fall = [&](auto play) {
    std::vector<double> completion;
    for (std::int32_t depth = 1; depth <= 4; ++depth) completion.push_back(mean_of(play(depth).finished));
    CHECK(completion[3] > completion[2]);  // and a fourth step does harm
    return 1 - completion[2] / completion[0];
  };
  // Published: 15 %.
  CHECK(std::abs(fall([&](std::int32_t depth) {
                   return of->in_rounds("crius", progress_count::artifact, "", depth);
                 }) -
                 0.050) < 0.001);
  CHECK(std::abs(fall([&](std::int32_t depth) { return of->between_events("crius", depth); }) - 0.073) <
        0.001);
}

TEST_CASE("C11: wrong estimates cost motet little, and never its place") {
  const auto of = published_on(0);
  if (!of) return;
  const job_outcome exact = of->between_events("motet");
  for (const double noise : {0.05, 0.1, 0.2}) {
    CAPTURE(noise);
    const job_outcome got = of->between_events("motet", 0, noise);
    CHECK(within(mean_of(got.finished), mean_of(exact.finished), 0.01));
    CHECK(within(censored_completion(got), censored_completion(exact), 0.01));
    CHECK(censored_completion(got) < censored_completion(of->between_events("crius", 0, noise)));
  }
}

TEST_CASE("motet is better than crius and sia where all changes are charged, and to all alike") {
  const auto of = published_on(0);
  if (!of) return;
  const job_outcome ours = of->between_events("motet");
  for (const char* const other : {"crius", "sia"}) {
    const job_outcome theirs = of->between_events(other);
    CHECK(mean_of(ours.finished) < mean_of(theirs.finished));
    CHECK(censored_completion(ours) < censored_completion(theirs));
    CHECK(ours.finished.size() > theirs.finished.size());
  }
}

TEST_CASE("C12: on one kind crius is ahead of gavel and first come, first served, and not of our sia") {
  const auto of = published_on(3, "h100");
  if (!of) return;
  std::map<std::string, job_outcome> got;
  for (const char* const policy : {"motet", "sia", "crius", "elasticflow-ls", "gavel", "fcfs"})
    got[policy] = of->between_events(policy);
  const auto rate = [&](const char* policy) { return mean_of(got.at(policy).throughput); };
  CHECK(rate("sia") > rate("motet"));
  CHECK(rate("motet") > rate("crius"));
  CHECK(rate("crius") > rate("elasticflow-ls"));
  CHECK(rate("elasticflow-ls") > rate("gavel"));
  CHECK(rate("gavel") > rate("fcfs"));
  // Published: 1.21, 1.48, 2.04 and 2.36.
  CHECK(rate("crius") / rate("sia") == doctest::Approx(0.80).epsilon(0.01));
  CHECK(rate("crius") / rate("elasticflow-ls") == doctest::Approx(1.07).epsilon(0.01));
  CHECK(rate("crius") / rate("gavel") == doctest::Approx(1.10).epsilon(0.01));
  CHECK(rate("crius") / rate("fcfs") == doctest::Approx(1.84).epsilon(0.01));
  // Promises have a share of the devices, or motet would finish fewer than sia.
  for (const char* const policy : {"sia", "crius", "elasticflow-ls", "gavel", "fcfs"}) {
    CAPTURE(policy);
    CHECK(got.at("motet").finished.size() > got.at(policy).finished.size());
    CHECK(censored_completion(got.at("motet")) < censored_completion(got.at(policy)));
  }
}
