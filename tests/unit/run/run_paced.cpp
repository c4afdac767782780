// SPDX-License-Identifier: Apache-2.0
#include <motet/run/run_paced.hpp>

#include <motet/format/text/json_read.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace motet;

TEST_CASE("a step for each line, behind three that warm up") {
  opened_run run = run_of({"--data", "random", "--batch", "4"});
  std::istringstream lines("one\ntwo\n");
  int status = -1;
  const std::string said = printed_by([&] { status = run_paced(run, lines); });
  CHECK(status == 0);
  CHECK(scripted(run).rates.size() == 5);
  CHECK(said.starts_with("ready\n"));
  const json told = read_json(said.substr(said.find('{')));
  CHECK(told.at("program").string() == "motet");
  CHECK(told.at("batch").integer() == 4);
  CHECK(told.at("loss").number() == 8.0 / 32);
  CHECK(told.at("samples_per_second").number() > 0);
  CHECK(told.at("predicted_bytes").integer() == memory_of_run(*run.model, run.s, nullptr).total());
}

TEST_CASE("without a line there is no step to be measured") {
  opened_run run = run_of({"--data", "random", "--batch", "4"});
  std::istringstream none;
  const std::string said = printed_by([&] { run_paced(run, none); });
  CHECK(read_json(said.substr(said.find('{'))).at("seconds").number() == 0);
  CHECK(scripted(run).rates.size() == 3);
}

TEST_CASE("what the last steps of a plan are simulated to take") {
  opened_run run = run_of({"--data", "random", "--batch", "6", "--plan", "beside"});
  CHECK(paced_steps(run).next() == nullptr);  // one rank by itself waits for nobody
  run.chosen = choose_plan(run.s);
  CHECK(paced_steps(run).next() != nullptr);
  json told;
  paced_steps(run).tell(told);
  CHECK_FALSE(told.is_object());

  // A program of two stages, of which every computation took a second and the last steps count alone.
  scripted(run).order = compile(one_f_one_b::write({.stages = 2, .microbatches = 2}));
  paced_steps played(run);
  for (int step = 0; step < 20; ++step) {
    const double second = step < 12 ? 100 : 1;
    simulate(run.model->of(), even_costs(run.model->of(), {second, second / 2, second / 2}), *played.next());
  }
  played.tell(told);
  CHECK(told.at("simulated_seconds").number() == doctest::Approx(6));
}
