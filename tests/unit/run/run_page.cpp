// SPDX-License-Identifier: Apache-2.0
#include <motet/run/run_page.hpp>

#include <motet/format/text/json_read.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace motet;

TEST_CASE("sections come with the longest first, and those without time not at all") {
  step_costs costs;
  const int left = costs.inside(-1, "left");
  costs.at(left).seconds = 1;
  costs.at(costs.inside(left, "mlp")).seconds = 3;
  costs.inside(left, "idle");
  const std::vector<section_share> found = shares_of(costs);
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "left / mlp");
  CHECK(found[1].seconds == 1);
}

TEST_CASE("the page says what was trained, how far and on what") {
  opened_run run = run_of({"--data", "random", "--batch", "6"});
  run.s.command = "program --data random";
  told_run told;
  for (int k = 1; k <= 2; ++k) {
    json line;
    line.set("step", k);
    line.set("loss", 4.0 / k);
    line.set("seconds", 3.0);
    told.lines.push_back(line);
  }
  const report_page page = page_of(run, {}, {}, told);
  CHECK(page.title == "Training scripted");
  CHECK(page.subtitle == "0 steps of 6 pairs, loss infonce, precision fp32");
  CHECK(page.pictures.empty());
  const auto shows = [&](const char* value, const char* name) {
    return std::any_of(page.headline.begin(), page.headline.end(),
                       [&](const auto& each) { return each.value == value && each.label == name; });
  };
  CHECK(shows("2.0000", "last loss"));
  CHECK(shows("2", "samples a second"));
  CHECK(shows("0:06", "in steps"));
  const auto fact = [&](const char* name) {
    const auto found = std::find_if(page.facts.begin(), page.facts.end(),
                                    [&](const auto& each) { return each.first == name; });
    return found != page.facts.end() ? found->second : std::string("none");
  };
  CHECK(fact("left tower") == "one layer of width 4");
  CHECK(fact("command") == "program --data random");
  CHECK(read_json(fact("settings")).at("batch").integer() == 6);
}

TEST_CASE("the page says what tests found, and what an order of samples gained") {
  opened_run run = run_of({"--data", "random", "--batch", "6"});
  run.s.reorder = "all";
  run.reordered.add({.listed_seconds = 5, .seconds = 4, .measured = true, .search_seconds = 1e-3});
  const report_page page = page_of(run, {}, {}, {});
  const auto found = std::find_if(page.facts.begin(), page.facts.end(),
                                  [](const auto& each) { return each.first == "order of samples"; });
  REQUIRE(found != page.facts.end());
  CHECK(found->second == "all, 1.250 times as fast by simulation");
}
