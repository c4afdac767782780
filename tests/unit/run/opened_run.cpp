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

TEST_CASE("a run begins with weights of others, keeps which, and not with any when it goes on") {
  const scratch folder;
  const std::string run = (folder / "run").string();
  save_part({run, "other", 7, 0, 1}, {});
  finish({run, "other", 7, 0, 1}, {}, {});
  const std::string words = "left=" + run + ":eye";
  opened_run begins = run_of({"--data", "random", "--batch", "4", "--begin", words.c_str()});
  begins.prepare();
  REQUIRE(scripted(begins).begun.size() == 1);
  CHECK(scripted(begins).begun[0].module == "left");
  CHECK(scripted(begins).begun[0].as == "eye");
  CHECK(begins.begun.items()[0].string() == "left as eye of " + run + "/step-000007, step 7");

  const std::string twice = words + "," + run;
  opened_run doubled = run_of({"--data", "random", "--batch", "4", "--begin", twice.c_str()});
  CHECK_THROWS_WITH_AS(doubled.prepare(), doctest::Contains("gives weights of left twice"), error);
  CHECK_THROWS_WITH_AS(run_of({"--data", "random", "--begin", "nowhere"}), doctest::Contains("nowhere"),
                       error);

  opened_run goes_on(settings_of({"--data", "random", "--begin", "nowhere"}), checkpoint(run), {});
  goes_on.prepare();
  CHECK(scripted(goes_on).begun.empty());
}
