// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/tower_library.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("points of every tower by its own pins, and room for the features of the others") {
  cluster_facts on;
  on.device = {"small", 2e10, 1e10, 1e9, 1e9, {0.6, 4, 4}};
  on.devices_per_node = 4;
  const model_shape model{
      "two",
      {{.name = "one", .layers = 2, .width = 32, .heads = 2, .tokens = 16, .embedding = 16},
       {.name = "other", .layers = 2, .width = 16, .heads = 2, .tokens = 4, .embedding = 64}}};
  search_options options;
  options.pins = {{.name = "other", .tensor = 2}};
  tower_library library(model, on, 8, 1, options, true);
  CHECK(library.questions()[0].features == 8 * 64 * 4);
  CHECK(library.questions()[1].features == 8 * 16 * 4);
  CHECK(library.points(1, 1).empty());
  REQUIRE(library.points(1, 4).size() > 0);
  for (const tower_point& each : library.points(1, 4)) CHECK(each.split.tensor == 2);
  bool without = false;
  for (const tower_point& each : library.points(0, 4)) without = without || each.split.tensor == 1;
  CHECK(without);
  CHECK(&library.points(0, 4) == &library.points(0, 4));  // found once
  CHECK(library.best(0, 4, false).size() <= library.best(0, 4, true).size());
  CHECK(library.best(0, 4, true).size() < library.points(0, 4).size());

  on.device.memory_bytes = library.points(0, 4)[0].bytes * 1.01;
  CHECK(tower_library(model, on, 8, 1, options, true).points(0, 4).size() > 0);
  CHECK(tower_library(model, on, 8, 1, options, true, 0.01).points(0, 4).empty());
}
