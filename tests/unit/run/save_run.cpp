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
