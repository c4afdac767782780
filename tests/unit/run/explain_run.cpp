// SPDX-License-Identifier: Apache-2.0
#include <motet/run/explain_run.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a run is told without a step of it") {
  opened_run run = run_of({"--data", "random", "--batch", "6", "--accumulate", "2", "--steps", "40"});
  const std::string said = printed_by([&] { explain_run(*run.model, run.s, nullptr); });
  CHECK(holds(said, "machine   a machine of paper\n"));
  CHECK(holds(said, "model     scripted, loss infonce, precision fp32\n"));
  CHECK(holds(said, "left      one layer\n"));
  CHECK(holds(said, "step      6 samples in 2 parts, 40 steps"));
  CHECK(holds(said, "3.000 GFLOP 100.0%"));
  CHECK(holds(said, "  weights                 800 bytes"));
  CHECK(scripted(run).prepared == 0);
  CHECK(scripted(run).rates.empty());
}

TEST_CASE("how weights are moved, and modules that are moved otherwise") {
  const std::string said = printed_by([] {
    explain_learning(settings_of({"--optimizer", "muon", "--ema", "0.5", "--layer-rate", "0.75", "--rates",
                                  "left=0.5:decay=0.25:schedule=constant"}));
  });
  CHECK(holds(said, "optimizer muon, weight decay 0.1, clip 1\n"));
  CHECK(holds(said, "rates     0.75 of the rate above it"));
  CHECK(holds(said, "left      0.5 of the learning rate, weight decay 0.25, a schedule of its own"));
  CHECK(holds(said, "constant\n"));
  CHECK(holds(said, "averages  of the weights, decay 0.5\n"));
}

TEST_CASE("a plan begins with its name, its model and its ranks") {
  const run_settings s = settings_of({"--plan", "beside", "--batch", "6"});
  const std::string said = printed_by([&] { print_head(choose_plan(s), s); });
  CHECK(holds(said, "plan      beside: one rank for each\nmodel     scripted, a batch of 6\nranks     2\n"));
}

TEST_CASE("a plan is told with all that a step of it takes") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 30);
  write_vocabulary(folder);
  const std::string data = folder.path().string();
  const auto told = [](std::vector<const char*> words) {
    run_settings s = settings_of(std::move(words));
    const chosen_plan chosen = choose_plan(s);
    const auto model = open_session(s, &chosen);
    std::string said;
    {
      long_work waits("train_scripted");
      said = printed_by([&] { explain_chosen(chosen, s, *model, waits); });
    }
    CHECK(static_cast<scripted_session&>(*model).prepared == 0);
    return said;
  };
  const std::string made = told({"--plan", "beside", "--batch", "6"});
  CHECK(made.starts_with("plan      beside: one rank for each\n"));
  CHECK(holds(made, "optimizer adamw, weight decay 0.1, clip 1\n"));
  CHECK(holds(made, "counted   samples as long as any can be"));
  CHECK_FALSE(holds(made, "producers"));
  // What the plan is stands last, as a file of --plan has it.
  CHECK(read_plan(read_json(made.substr(made.rfind("\n\n") + 2))).modules.size() == 2);
  const std::string counted = told({"--plan", "beside", "--batch", "6", "--data", data.c_str()});
  CHECK(holds(counted, "counted   the mean of the first 4 steps of " + data + "\n"));
  CHECK(holds(counted, "the steps (--producers "));
  // A profile of another model is none of this one's.
  machine_profile measured;
  measured.gaps.push({"elsewhere", {.tensor = 2}, {.forward = 0.25}});
  const std::string file = (folder / "profile.json").string();
  write_file(file, write_json(profile_json(measured)));
  CHECK_THROWS_WITH_AS(told({"--plan", "beside", "--profile", file.c_str()}), doctest::Contains(file.c_str()),
                       error);
}

TEST_CASE("paths are told behind three steps") {
  opened_run run = run_of({"--data", "random", "--batch", "6"});
  const std::string said = printed_by([&] { probe_paths(run); });
  CHECK(scripted(run).rates == std::vector<double>{0, 0, 0});
  CHECK(holds(said, "paths of 3 steps"));
  CHECK(holds(said, "  linear: by hand\n"));
}

TEST_CASE("where no step can run, paths are not told, and what else is wrong is") {
  struct failing_session : scripted_session {
    using scripted_session::scripted_session;
    void prepare() override { fail(*why, "as told"); }
    const message* why = &no_gpu;
  };
  opened_run run = run_of({"--data", "random", "--batch", "6"});
  auto made = std::make_unique<failing_session>(session_request{});
  failing_session& model = *made;
  run.model = std::move(made);
  for (const message* const each : {&no_gpu, &gpu_memory_full}) {
    model.why = each;
    const std::string said = printed_by([&] { probe_paths(run); });
    CHECK(said.starts_with("paths     are told where a step can run: "));
    CHECK(holds(said, each->code));
  }
  model.why = &file_unwritable;
  CHECK_THROWS_WITH_AS(probe_paths(run), doctest::Contains(file_unwritable.code), error);
}
