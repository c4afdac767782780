// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/policies.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

using namespace motet;

TEST_CASE("every policy plays our table in rounds, in all ways of counting") {
  const jobs_here here = small_jobs();
  for (const std::string_view name : policy_names)
    for (const progress_count count :
         {progress_count::correct, progress_count::uncharged, progress_count::artifact}) {
      CAPTURE(name);
      policy_question asked;
      asked.policy = name;
      asked.count = count;
      asked.rounds = 300;
      const policy_answer got = play_policy(asked, here.cluster, here.trace, here.times, here.memory);
      CHECK(got.outcome.throughput.size() == 300);
      CHECK(got.outcome.submitted > 100);
      CHECK(got.chooses == (name.starts_with("motet") || name == "sia" || name == "gavel"));
    }
}

TEST_CASE("who looks at deadlines keeps more of them, and what crius starts then ends in time") {
  const jobs_here here = small_jobs();
  const auto play = [&](const char* policy) {
    policy_question asked;
    asked.policy = policy;
    return play_policy(asked, here.cluster, here.trace, here.times, here.memory).outcome;
  };
  CHECK(play("motet-deadlines").in_time > play("motet").in_time);
  const job_outcome strict = play("crius-deadlines");
  CHECK(strict.in_time > 0.9 * static_cast<double>(strict.finished.size()));
}

TEST_CASE("policies and parts that there are not are refused by name") {
  const auto said = [](policy_question of) {
    try {
      require_policy(of);
    } catch (const error& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  CHECK(said({.policy = "crios"}).find("did you mean crius") != std::string::npos);
  CHECK(said({.policy = "crius", .without = {"type"}}).find("did you mean types") != std::string::npos);
  CHECK(said({.policy = "fcfs", .without = {"types"}}).find("[MT-J09]") != std::string::npos);
  CHECK(said({.policy = "crius", .without = {"types", "scaling"}}).empty());
}

// The artifact of Crius publishes these for its Philly trace: 2,000 rounds, 986 jobs.
TEST_CASE("published rows come out on the published trace, where MOTET_JOBS_DATA names its folder") {
  const char* const folder = std::getenv("MOTET_JOBS_DATA");
  if (folder == nullptr) {
    MESSAGE("skipped: MOTET_JOBS_DATA names no folder");
    return;
  }
  const std::string at = std::string(folder) + "/";
  const job_cluster cluster = known_job_clusters()[0];
  const job_trace trace =
      read_job_trace(read_text(at + "arena_simulate_trace_philly.csv"), "philly", cluster);
  const iteration_times times = read_iteration_times(read_text(at + "crius_iter_times.csv"), "times");
  const data_parallel_memory memory =
      read_data_parallel_memory(read_text(at + "arena_dp_mem.json"), "memory");
  const auto play = [&](const char* policy, const char* without, progress_count count) {
    policy_question asked;
    asked.policy = policy;
    if (*without != '\0') asked.without = {without};
    asked.count = count;
    asked.rounds = 2000;
    return play_policy(asked, cluster, trace, times, memory).outcome;
  };
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
    const job_outcome got = play(each.policy, each.without, progress_count::artifact);
    CHECK(got.submitted == 986);
    CHECK(got.finished.size() == each.finished);
    CHECK(std::abs(mean_of(got.finished) - each.completion) < 0.6);
    CHECK(std::abs(mean_of(got.waited) - each.queue) < 0.6);
    CHECK(std::abs(mean_of(got.throughput) - each.mean) < 1);
    CHECK(std::abs(largest_of(got.throughput) - each.peak) < 1);
  }
  // Counted correctly.
  const job_outcome flow = play("elasticflow-ls", "", progress_count::uncharged);
  CHECK(flow.finished.size() == 578);
  CHECK(std::abs(mean_of(flow.finished) - 59094) < 0.6);
  // The publication, which pads, has 81.3 and 80.5 % below first come, first served, and ElasticFlow.
  const job_outcome crius = play("crius", "", progress_count::artifact),
                    first = play("fcfs", "", progress_count::artifact),
                    elastic = play("elasticflow-ls", "", progress_count::artifact);
  const double longest = largest_of(first.finished), own = mean_of(crius.finished);
  CHECK(std::abs(1 - own / padded_completion(first, 828, longest) - 0.813) < 0.001);
  CHECK(std::abs(1 - own / padded_completion(elastic, 828, longest) - 0.805) < 0.001);
  CHECK(std::abs(1 - own / mean_of(first.finished) - 0.499) < 0.001);
  CHECK(std::abs(1 - own / mean_of(elastic.finished) - 0.250) < 0.001);
  // Better than Crius and Sia where all changes are charged, and to all alike: over finished jobs and with
  // the others as censored.
  const auto exact = [&](const char* policy) {
    policy_question asked;
    asked.policy = policy;
    asked.until = 600000;
    return play_policy(asked, cluster, trace, times, memory).outcome;
  };
  const job_outcome ours = exact("motet");
  for (const char* const other : {"crius", "sia"}) {
    const job_outcome theirs = exact(other);
    CHECK(mean_of(ours.finished) < mean_of(theirs.finished));
    CHECK(censored_completion(ours) < censored_completion(theirs));
    CHECK(ours.finished.size() > theirs.finished.size());
  }
}
