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

TEST_CASE("paths are told behind three steps") {
  opened_run run = run_of({"--data", "random", "--batch", "6"});
  const std::string said = printed_by([&] { probe_paths(run); });
  CHECK(scripted(run).rates == std::vector<double>{0, 0, 0});
  CHECK(holds(said, "paths of 3 steps"));
  CHECK(holds(said, "  linear: by hand\n"));
}
