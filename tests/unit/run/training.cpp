// SPDX-License-Identifier: Apache-2.0
#include <motet/run/training.hpp>

#include <motet/tools/process/exit_code.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

#include <csignal>

using namespace motet;

namespace {

// The same run, whose model does this behind each of its steps, too.
template <class Then>
void replace_session(opened_run& run, Then&& then) {
  struct acting_session : scripted_session {
    acting_session(const session_request& by, Then act) : scripted_session(by), act_(std::move(act)) {}
    step_result step(const step_input& batch, double rate, timeline* record) override {
      const step_result out = scripted_session::step(batch, rate, record);
      act_(*this);
      return out;
    }
    Then act_;
  };
  run.model = std::make_unique<acting_session>(scripted(run).wanted, std::forward<Then>(then));
}

}  // namespace

TEST_CASE("a run trains, tests, saves and reports, and its lines tell all of it") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 10);
  write_pairs(folder, "test-000.tar", 10, 6);
  write_vocabulary(folder);
  const std::string data = folder.path().string(), to = (folder / "kept").string(),
                    report = (folder / "report").string();
  opened_run run =
      run_of({"--data", data.c_str(), "--batch", "4", "--steps", "6", "--checkpoint", to.c_str(), "--report",
              report.c_str(), "--save-every", "2", "--validate-every", "3", "--warmup", "2", "--lr", "1"});
  run.s.effective = "{\"steps\": 6}\n";  // what the command line comes to
  int status = -1;
  const std::string said = printed_by([&] { status = training(run).run(); });
  CHECK(status == 0);
  const scripted_session& model = scripted(run);
  CHECK(model.rates.size() == 6);
  CHECK(model.rates[0] == 0.5);
  CHECK(model.rates[1] == 1);
  // Checkpoints came after steps 2, 4 and 6.
  CHECK(model.saves == 3);
  CHECK(holds(said, "step 6/6 100%  loss 0.1250"));
  const told_run told = read_run(report);
  CHECK(last_number_of(told, "validation_loss") == 1.5);
  CHECK(last_number_of(told, "loss") == 0.125);
  CHECK(std::filesystem::exists(folder / "report" / "index.html"));
  CHECK(told.settings.at("steps").integer() == 6);
}

TEST_CASE("of several losses each is told: in lines, in files, in the report") {
  const scratch folder;
  const std::string report = (folder / "report").string();
  write_pairs(folder, "train-000.tar", 0, 10);
  write_vocabulary(folder);
  const std::string data = folder.path().string();
  opened_run run =
      run_of({"--data", data.c_str(), "--batch", "4", "--steps", "2", "--report", report.c_str()});
  run.s.effective = "{}\n";
  static constexpr std::string_view towers[] = {"left", "right"};
  scripted(run).parts = {{"info_nce", towers}, {"next_token", std::span(towers).last(1)}};
  for (const loss_part& each : scripted(run).parts) scripted(run).told.losses.push_back(each.told());
  const std::string said = printed_by([&] { training(run).run(); });
  CHECK(holds(said, "  loss 2.0000 (info_nce of left and right 1.0000, next_token of right 0.6667)  norm"));
  const told_run told = read_run(report);
  CHECK(last_number_of(told, "loss/info_nce of left and right") == 1);
  CHECK(last_number_of(told, "loss/next_token of right") == doctest::Approx(2.0 / 3));
  const std::string page(mapped_file(folder / "report" / "index.html").text()),
      commas(mapped_file(folder / "report" / "metrics.csv").text());
  CHECK(
      holds(page, "<div class=\"value\">1.0000</div><div class=\"label\">info_nce of left and right</div>"));
  CHECK(holds(page, "Each loss by itself"));
  CHECK(holds(commas, "loss/info_nce of left and right,loss/next_token of right"));
}

TEST_CASE("what cannot be read ends a run, saved") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 10, [](motet::isize i, made_sample& made) {
    if (i == 7) made.picture.resize(40);
  });
  write_vocabulary(folder);
  const std::string data = folder.path().string(), to = (folder / "kept").string();
  opened_run run = run_of({"--data", data.c_str(), "--batch", "2", "--steps", "40", "--checkpoint",
                           to.c_str(), "--strict", "--no-report"});
  printed_by([&] { CHECK_THROWS_AS(training(run).run(), error); });
  CHECK(scripted(run).rates.size() < 40);
  CHECK(scripted(run).saves == (scripted(run).rates.empty() ? 0 : 1));
}

TEST_CASE("a run that is asked to stop saves, says so, and ends as whoever starts it again must know") {
  const scratch folder;
  const std::string to = (folder / "kept").string();
  for (const bool saves : {false, true}) {
    std::vector<const char*> words{"--data", "random", "--batch", "4", "--steps", "9"};
    if (saves) words.insert(words.end(), {"--checkpoint", to.c_str()});
    opened_run run = run_of(words);
    replace_session(run, [](scripted_session& model) {
      if (model.rates.size() == 2) ::raise(SIGTERM);
    });
    int status = -1;
    const std::string said = printed_by([&] { status = training(run).run(); });
    CHECK(status == exit_restart.status);
    CHECK(run.model->updates() == 2);
    CHECK(scripted(run).saves == (saves ? 1 : 0));
    CHECK(holds(said, saves ? "stopped by a signal after step 2\n"
                            : "stopped by a signal after step 2, nothing saved (no --checkpoint)\n"));
  }
}

TEST_CASE("a step that does more than the peak has the peak measured once more") {
  opened_run run = run_of({"--data", "random", "--batch", "4", "--steps", "2"});
  replace_session(run, [](scripted_session& model) { model.flops_of_step = 4e6; });
  const std::string said = printed_by([&] { CHECK(training(run).run() == 0); });
  CHECK(holds(said, "peak of MFU: 1.0 GFLOP/s, the best fp32 product (8 x 8) here, measured now\n"));
  CHECK(holds(
      said,
      "peak of MFU: 4.0 GFLOP/s, the best fp32 product (8 x 8) here, measured again, as a step did more\n"));
}

TEST_CASE("what another process cannot read ends the run here too, saved") {
  const scratch folder;
  const std::string to = (folder / "kept").string();
  opened_run run = run_of({"--data", "random", "--batch", "4", "--steps", "9", "--checkpoint", to.c_str()});
  replace_session(run, [](scripted_session& model) { model.elsewhere = model.rates.size() == 3; });
  printed_by([&] {
    CHECK_THROWS_WITH_AS(training(run).run(), doctest::Contains("by another process; see what that one says"),
                         error);
  });
  CHECK(run.model->updates() == 3);
  CHECK(scripted(run).saves == 1);
}

TEST_CASE("held-out samples are asked on the way, and what was left out of the data is told at the end") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 10, [](motet::isize i, made_sample& made) {
    if (i < 3) made.picture.resize(40);
  });
  write_pairs(folder, "test-000.tar", 10, 6);
  write_vocabulary(folder);
  const std::string data = folder.path().string(), report = (folder / "report").string();
  opened_run run = run_of({"--data", data.c_str(), "--batch", "7", "--steps", "4", "--eval-every", "2",
                           "--report", report.c_str()});
  run.s.effective = "{}\n";
  // Neither a report nor its settings end a run that trained.
  std::filesystem::create_directories(folder / "report" / "config.json");
  std::filesystem::create_directories(folder / "report" / "index.html");
  const std::string said = printed_by([&] { CHECK(training(run).run() == 0); });
  CHECK(holds(said, "skipped: "));
  CHECK_FALSE(holds(said, "settings "));
  CHECK_FALSE(holds(said, "report "));
  // At step 2, and twice at the end: their loss, and what they are.
  CHECK(scripted(run).gathered == 3);
}
