// SPDX-License-Identifier: Apache-2.0
#include <motet/run/save_run.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a checkpoint has what a run goes on from, and its vocabulary beside it") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 10);
  write_vocabulary(folder);
  const std::string data = folder.path().string(), to = (folder / "kept").string();
  opened_run run = run_of({"--data", data.c_str(), "--batch", "4", "--checkpoint", to.c_str()});
  hold_folder(run);
  const auto source = run.open_feed();
  source->next();
  std::FILE* const lines = std::tmpfile();
  {
    progress out(lines, false);
    save_run(run, *source, out);
  }
  std::fclose(lines);
  const scripted_session& model = scripted(run);
  CHECK(model.saves == 1);
  CHECK(model.saved_as == "scripted/infonce");
  CHECK(model.saved_state.at("program").string() == "train_scripted");
  CHECK(model.saved_state.at("settings").at("batch").integer() == 4);
  CHECK(model.saved_state.at("data").at("next").integer() == 4);
  CHECK(model.saved_state.at("vocabulary").unsigned_integer() == run.folder->vocabulary_fingerprint());
  CHECK(std::filesystem::exists(folder / "kept" / "tokenizer.json"));
}

TEST_CASE("a save that finds its folder gone is made again, three times at most") {
  const scratch folder;
  const std::string to = (folder / "kept").string();
  opened_run run = run_of({"--data", "random", "--batch", "4", "--checkpoint", to.c_str()});
  hold_folder(run);
  const auto source = run.open_feed();
  std::FILE* const lines = std::tmpfile();
  progress out(lines, false);
  scripted(run).failing_saves = 2;
  save_run(run, *source, out);
  CHECK(scripted(run).saves == 3);
  scripted(run).saves = 0;
  scripted(run).failing_saves = 3;
  CHECK_THROWS_AS(save_run(run, *source, out), error);
  CHECK(scripted(run).saves == 3);
}

TEST_CASE(
    "an earlier run in the same folder is kept under another name, and one that is gone on with stays") {
  const scratch folder;
  const std::string to = (folder / "kept").string();
  const auto run_before = [&](isize step) {
    save_part({to, "scripted/infonce", step, 0, 1}, {});
    finish({to, "scripted/infonce", step, 0, 1}, {}, {});
  };
  const auto begins = [&](std::vector<const char*> words) {
    words.insert(words.begin(), {"--data", "random", "--checkpoint"});
    words.insert(words.begin() + 3, to.c_str());
    opened_run run = run_of(words);
    hold_folder(run);
  };
  run_before(5);
  begins({"--resume"});
  CHECK(latest_checkpoint(to).has_value());
  begins({});
  CHECK_FALSE(latest_checkpoint(to).has_value());
  CHECK(checkpoint(to + ".old-1").step() == 5);
  // A slash behind its name, and a name that is taken.
  run_before(6);
  step_aside(to + "/", "train_scripted");
  CHECK(checkpoint(to + ".old-2").step() == 6);
  run_before(7);
  std::filesystem::create_directory(to + ".old-3");
  step_aside(to, "train_scripted");
  CHECK(checkpoint(to + ".old-4").step() == 7);
}

TEST_CASE("a folder that cannot be made again ends a save, as it does in all processes") {
  const scratch folder;
  const std::string to = (folder / "kept").string();
  opened_run run = run_of({"--data", "random", "--batch", "4", "--checkpoint", to.c_str()});
  hold_folder(run);
  const auto source = run.open_feed();
  std::FILE* const lines = std::tmpfile();
  progress out(lines, false);
  std::filesystem::remove_all(to);
  write_file(to, std::string_view("a file in its place"));
  CHECK_THROWS_WITH_AS(save_run(run, *source, out), doctest::Contains(to.c_str()), error);
  CHECK(scripted(run).saves == 0);
  std::filesystem::remove(to);
  save_run(run, *source, out);
  CHECK(scripted(run).saves == 1);
}

TEST_CASE("a plan that was found lies beside what it trained") {
  const scratch folder;
  const std::string to = (folder / "kept").string();
  opened_run run = run_of({"--data", "random", "--plan", "beside", "--checkpoint", to.c_str()});
  run.chosen = choose_plan(run.s);
  run.s.orchestrate = "here";
  hold_folder(run);
  CHECK(load_plan(to + "/plan.json").modules.size() == 2);
}
