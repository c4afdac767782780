// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/cells/job_cell.hpp>
#include <motet/plan/describe/cluster_presets.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("cells are powers of two of devices and stages, as far as kind and layers go") {
  model_shape model;
  model.towers.push({.name = "a", .layers = 6});
  const list<job_cell> all = job_cells(model, cluster_named("h100:2x4"), 3);
  // 1; 2, 2; 4, 4, 4; 8, 8, 8: six layers make no eight stages.
  CHECK(all.size() == 9);
  CHECK(all[0] == job_cell{3, 1, 1});
  CHECK(all[8] == job_cell{3, 8, 4});
  CHECK(job_cells(model, cluster_named("h100:2x4"), 0, {.devices = 4, .stages = 2}).size() == 5);
}
TEST_CASE("a cell has whole nodes, or a part of one") {
  const cluster_facts kind = cluster_named("h100:8x8");
  CHECK(cluster_of({0, 2, 1}, kind).devices_per_node == 2);
  CHECK(cluster_of({0, 2, 1}, kind).nodes == 1);
  CHECK(cluster_of({0, 32, 1}, kind).nodes == 4);
  // Of six devices of a node four are a power of two.
  CHECK(cluster_of({0, 8, 1}, cluster_named("h100:8x6")).devices_per_node == 4);
  model_shape model;
  model.towers.push({.name = "a", .layers = 16});
  const list<job_cell> all = job_cells(model, cluster_named("h100:3x6"));
  CHECK(all[all.size() - 1].devices == 8);
}
