// SPDX-License-Identifier: Apache-2.0
#include <motet/run/chosen_plan.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a plan is found by name and proven for the model and the batch") {
  const chosen_plan found = choose_plan(settings_of({"--plan", "beside"}));
  CHECK(found.name == "beside");
  CHECK(found.about == "one rank for each");
  CHECK(found.value.cluster.ranks == 2);
  CHECK_THROWS_WITH_AS(choose_plan(settings_of({"--plan", "best"})),
                       doctest::Contains("\"best\"; there are both, beside"), error);
  check_ranks(found, settings_of({"--ranks", "2"}));
  CHECK_THROWS_WITH_AS(check_ranks(found, settings_of({"--ranks", "3"})),
                       doctest::Contains("for 2 ranks, the command line says --ranks 3"), error);

  training_program without = scripted_program;
  without.plans = {};
  CHECK(choose_plan(settings_of({"--plan", "data-2"}, without)).about.empty());
  CHECK_THROWS_AS(choose_plan(settings_of({"--plan", "data-5", "--batch", "3"}, without)), error);
  const std::string all = printed_by([&] { print_catalogue(without.plans); });
  CHECK(holds(all, "batch_sync-N"));
}

TEST_CASE("rows cross between replicas of modules that are apart, or the plan is refused") {
  CHECK_THROWS_WITH_AS(
      choose_plan(settings_of({"--plan", "beside", "--reorder", "modules"}, speaking_program())),
      doctest::Contains("so no row can cross; take --reorder all"), error);
}

TEST_CASE("one rank is not spread, and more than one need a plan") {
  launched alone, two;
  two.ranks = 2;
  CHECK_FALSE(is_spread(settings_of({}), alone));
  CHECK_FALSE(is_spread(settings_of({"--plan", "one"}), alone));
  CHECK(is_spread(settings_of({"--plan", "beside"}), alone));
  CHECK_THROWS_WITH_AS(is_spread(settings_of({}), two), doctest::Contains("how 2 ranks share the work"),
                       error);
  CHECK_THROWS_WITH_AS(is_spread(settings_of({"--ranks", "3"}), alone), doctest::Contains("how 3 ranks"),
                       error);
  CHECK_THROWS_WITH_AS(is_spread(settings_of({"--resplit", "5"}), alone),
                       doctest::Contains("--plan with replicas"), error);
  for (std::vector<const char*> words :
       {std::vector<const char*>{"--reorder", "ranks"}, {"--reorder", "ranks", "--plan", "one"}})
    CHECK_THROWS_WITH_AS(is_spread(settings_of(words, speaking_program()), alone),
                         doctest::Contains("--plan with several ranks, which --reorder ranks gives"), error);
}

TEST_CASE("ranks are as many as the plan has, all in this process where nothing started them") {
  const run_settings s = settings_of({"--plan", "beside"});
  chosen_plan found = choose_plan(s);
  find_ranks(found, s);
  CHECK(found.by.ranks == 2);
  CHECK(found.by.by == launcher::none);
  const run_settings three = settings_of({"--plan", "beside", "--ranks", "3"});
  CHECK_THROWS_WITH_AS(find_ranks(found, three), doctest::Contains("is for 2 ranks, there are 3"), error);
}

TEST_CASE("a session is opened with its plan, or the message says how to have it") {
  const run_settings s = settings_of({"--plan", "beside"});
  const chosen_plan found = choose_plan(s);
  const auto made = open_session(s, &found);
  REQUIRE(scripted_session::made->wanted.how);
  CHECK(*scripted_session::made->wanted.how == found.value);
  CHECK_FALSE(static_cast<scripted_session&>(*open_session(s, nullptr)).wanted.how);
  CHECK_THROWS_WITH_AS(open_session(settings_of({"--accumulate", "2"}), &found),
                       doctest::Contains("leave --accumulate out"), error);
  CHECK_THROWS_WITH_AS(open_session(settings_of({"--model", "absent"}), nullptr),
                       doctest::Contains("compiled without this model; say -DMODELS=absent"), error);
}

TEST_CASE("the catalogue has a line for each plan") {
  const std::string all = printed_by([] { print_catalogue(scripted_plans); });
  CHECK(all == "both        1 rank   both on one rank\nbeside      2 ranks  one rank for each\n");
}
