// SPDX-License-Identifier: Apache-2.0
#include <motet/run/opened_run.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a run has its model, its data and what is held out of them") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 10);
  write_pairs(folder, "test-000.tar", 10, 6);
  write_vocabulary(folder);
  const std::string data = folder.path().string();
  opened_run run = run_of({"--data", data.c_str(), "--batch", "4"});
  REQUIRE(run.folder != nullptr);
  CHECK(run.folder->size() == 10);
  REQUIRE(run.test != nullptr);
  CHECK(run.test->size() == 6);
  CHECK(run.name() == "scripted/infonce");
  CHECK(run.losses() == 1);
  CHECK_FALSE(run.saves());
  CHECK(run.open_feed()->describe().find("vocabulary") != std::string::npos);

  opened_run random = run_of({"--data", "random", "--batch", "4"});
  CHECK(random.folder == nullptr);
  CHECK(random.test == nullptr);
  CHECK(std::get<0>(std::get<pair_input>(random.open_feed()->next())).samples == 4);
}

TEST_CASE("what does not go together is refused") {
  CHECK_THROWS_WITH_AS(run_of({"--data", "random", "--accumulate", "5", "--batch", "4"}),
                       doctest::Contains("--accumulate 5 parts of a batch of 4"), error);
  CHECK_THROWS_WITH_AS(run_of({"--data", "random", "--pictures", "bytes"}),
                       doctest::Contains("numbers and no pictures"), error);
}

TEST_CASE("a check takes everything in hand, and says so") {
  opened_run run = run_of({"--data", "random", "--batch", "4"});
  int status = -1;
  const std::string said = printed_by([&] { status = run.check(); });
  CHECK(status == 0);
  CHECK(scripted(run).prepared == 1);
  CHECK(scripted(run).compared == 1);
  CHECK(scripted(run).rates.empty());
  CHECK(holds(said, "model       scripted/infonce, 40 parameters\n"));
  CHECK(holds(said, "all is well\n"));
}
