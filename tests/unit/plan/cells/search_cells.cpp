// SPDX-License-Identifier: Apache-2.0
#include "../estimated_models.hpp"

#include <motet/plan/cells/search_cells.hpp>
#include <motet/plan/describe/model_presets.hpp>

using namespace motet;

TEST_CASE("every cell of a job has a row, with a plan that the library proves where one fits") {
  const model_shape model = find_model("clip-1.1b")->make();
  const cluster_facts kind = cluster_named("v100:2");
  cell_options options;
  options.bytes = kind.bytes;
  for (const cell_choice by : {cell_choice::published, cell_choice::estimated}) {
    options.by = by;
    const std::vector<cell_row> rows = search_cells(model, kind, 256, options);
    CHECK(rows.size() == as_size(job_cells(model, kind).size()));
    const cell_row* const best = fastest(rows);
    REQUIRE(best != nullptr);
    for (const cell_row& each : rows) {
      CAPTURE(each.cell.devices);
      CAPTURE(each.cell.stages);
      if (!each.runs) continue;
      CHECK(each.gives.step_seconds.value >= best->gives.step_seconds.value);
      CHECK(each.gives.memory_bytes.value <= kind.device.memory_bytes);
      const plan made = plan_of(each.proxy, each.layers, model, cluster_of(each.cell, kind));
      CHECK(prove_plan(made, facts_of(model), 256).ok());
    }
    CHECK_FALSE(rows[0].runs);  // one device is too small
  }
}
TEST_CASE("a choice by costs is never slower than the published one") {
  model_shape model;
  model.towers.push(tower_of_layers("a", 24, 1024, 512));
  const cluster_facts kind = wired_cluster(2, 8);
  const std::vector<cell_row> ours = search_cells(model, kind, 128),
                              published = search_cells(model, kind, 128, {.by = cell_choice::published});
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (published[i].runs)
      CHECK(ours[i].gives.step_seconds.value <= published[i].gives.step_seconds.value * 1.0001);
  cluster_facts small = kind;
  small.device.memory_bytes = 1e6;
  CHECK(fastest(search_cells(model, small, 128)) == nullptr);
}
