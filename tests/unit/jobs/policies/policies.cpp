// SPDX-License-Identifier: Apache-2.0
#include "support/jobs_here.hpp"

#include <motet/jobs/policies/policies.hpp>

#include <doctest/doctest.h>

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
