// SPDX-License-Identifier: Apache-2.0
#include <motet/run/opened_run.hpp>

#include <motet/tools/process/exit_code.hpp>

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
  CHECK_THROWS_WITH_AS(run_of({"--data", "random", "--producers", "2"}),
                       doctest::Contains("--producers 2 with --data random, which nobody prepares"), error);
  const training_program speaks = speaking_program();
  const auto spoken = [&](std::vector<const char*> words) {
    return opened_run(settings_of(std::move(words), speaks), {}, {});
  };
  CHECK_THROWS_WITH_AS(spoken({"--data", "random", "--defer", "2"}),
                       doctest::Contains("--defer 2 with --data random, whose samples are all alike"), error);
  CHECK_THROWS_WITH_AS(spoken({"--data", "there", "--defer", "3", "--rows", "9"}),
                       doctest::Contains("--defer 3 with --rows, where samples wait for room already"),
                       error);
  // A model that draws needs a picture of each sample, and a step of so many rows may end without one.
  trained_model draws = scripted_models[0];
  draws.make = [](const session_request& wanted) {
    auto made = std::make_unique<scripted_session>(wanted);
    made->told.shape.least_pictures = 1;
    return std::unique_ptr<session>(std::move(made));
  };
  training_program drawing = speaks;
  drawing.models = {&draws, 1};
  CHECK_THROWS_WITH_AS(opened_run(settings_of({"--data", "random", "--rows", "9"}, drawing), {}, {}),
                       doctest::Contains("--rows 9 with --model scripted, which draws a picture"), error);
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

TEST_CASE("a check reads data as they are, and tells what it left out") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 10, [](motet::isize i, made_sample& made) {
    if (i < 3) made.picture.resize(40);
  });
  write_pairs(folder, "test-000.tar", 10, 6);
  write_vocabulary(folder);
  const std::string data = folder.path().string();
  opened_run run = run_of({"--data", data.c_str(), "--batch", "7"});
  const std::string said = printed_by([&] { CHECK(run.check() == 0); });
  CHECK(holds(said, "skipped     "));
  CHECK(holds(said, "held out    6 pictures"));
}

namespace {

// A checkpoint that tells this of its last step, and how its steps went so far.
checkpoint kept(const std::string& run, isize step, const loss_trend& trend, json state = {}) {
  const checkpoint_writer by{run, "scripted/infonce", step, 0, 1};
  save_part(by, {});
  state.set("trend", trend_json(trend));
  return checkpoint(finish(by, std::move(state), {}, 0));
}
constexpr loss_trend calm{.loss = 1, .norm = 2, .mean_loss = 1, .mean_norm = 2, .steps = 30};

}  // namespace

TEST_CASE("a check of a saved run tells where it stands, and whether it may be gone on from") {
  const scratch folder;
  const std::string to = (folder / "run").string();
  const auto checked = [&](checkpoint from, int status) {
    opened_run run(settings_of({"--data", "random", "--batch", "4"}), std::move(from), {});
    return printed_by([&] { CHECK(run.check() == status); });
  };
  const std::string well = checked(kept(to, 5, calm), 0);
  CHECK(holds(well, "checkpoint  " + to + "/step-000005, step 5\n"));
  CHECK(holds(well, "loss        1.0000, mean 1.0000; gradient norm 2, mean 2\nall is well\n"));
  loss_trend risen = calm, ruined = calm;
  risen.loss = risen.mean_loss = 1.5;
  ruined.loss = 9;
  const std::string better = "; the best one kept is step 5, with a mean loss of 1.000000\n";
  CHECK(holds(checked(kept(to, 6, risen), 0), "the loss rises" + better + "all else is well\n"));
  const std::string worst = checked(kept(to, 7, ruined), exit_refused.status);
  CHECK(holds(worst, "this checkpoint looks ruined" + better));
  CHECK_FALSE(holds(worst, "well"));
  // Of a run that has no other, no better one is told.
  CHECK(holds(checked(kept((folder / "alone").string(), 7, ruined), exit_refused.status), "looks ruined\n"));
}

TEST_CASE("a run goes on where its data were, with the words that it was trained with") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 10);
  write_vocabulary(folder);
  const std::string data = folder.path().string(), to = (folder / "run").string();
  const std::vector<const char*> words{"--data", data.c_str(), "--batch", "4"};
  json state;
  {
    opened_run before = run_of(words);
    const auto source = before.open_feed();
    source->next();
    state.set("data", source->position());
    state.set("vocabulary", before.folder->vocabulary_fingerprint());
    state.set("begun", json(json::array{"left of elsewhere, step 3"}));
  }
  opened_run run(settings_of(words), kept(to, 1, calm, state), {});
  run.prepare();
  CHECK(run.model->updates() == 1);
  CHECK(run.trend.mean_loss == 1);
  CHECK(run.begun.items()[0].string() == "left of elsewhere, step 3");
  CHECK(run.open_feed()->position().at("next").integer() == 4);
  state.set("vocabulary", std::uint64_t{1});
  opened_run other(settings_of(words), kept(to, 2, calm, state), {});
  const std::string differs = "tokenizer.json differs from the vocabulary that " + to + "/step-000002";
  CHECK_THROWS_WITH_AS(other.prepare(), doctest::Contains(differs.c_str()), error);
}

TEST_CASE("who prepares data is a number of processes, or addresses") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 10);
  write_vocabulary(folder);
  const std::string data = folder.path().string();
  const auto refused = [&](const char* producers, const std::string& what) {
    CAPTURE(producers);
    opened_run run = run_of({"--data", data.c_str(), "--batch", "4", "--producers", producers});
    CHECK_THROWS_WITH_AS(run.open_feed(), doctest::Contains(what.c_str()), error);
  };
  refused("0", "--producers 0, wanted 1 to 4096");
  refused("4097", "--producers 4097, wanted 1 to 4096");
  refused("2x", "\"2x\"");
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
