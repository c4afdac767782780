// SPDX-License-Identifier: Apache-2.0
#include "../estimated_models.hpp"
#include "drawn_cells.hpp"

#include <motet/plan/cells/cell_forecast.hpp>

#include <map>

using namespace motet;

TEST_CASE("C8, the estimator: a step and its memory against the simulated program of the same plan") {
  // One tower within 10 %, most within 1 %; several that share a stage within 25 %. Memory within 0.2 %.
  for (const isize towers : {1, 2}) {
    cell_draws draws(towers);
    isize played = 0, near = 0;
    for (int i = 0; i < 40; ++i) {
      const drawn_cell each = draws.next();
      CAPTURE(towers);
      CAPTURE(i);
      const cell_answer found =
          plan_cell(each.model, each.kind, each.kind.bytes, each.samples, each.cell, {.most_imbalance = 1});
      if (found.plans.empty()) continue;
      const comm_table wires = modelled_table(each.kind, 16, 0.3);
      const cluster_facts on = cluster_of(each.cell, each.kind);
      const cell_costs costs({each.model, each.kind, each.kind.bytes, each.samples, wires}, each.cell,
                             found.layers, found.plans[0].microbatches, found.plans[0].remade);
      for (const cell_plan& one : found.plans) {
        const run_forecast wanted = estimated(plan_of(one, found.layers, each.model, on), each.model, on,
                                              each.samples, {}, each.kind.bytes);
        const cell_forecast gives = forecast_cell(costs, one);
        CHECK(gives.step_seconds.value == about(wanted.step_seconds, towers == 1 ? 0.1 : 0.25));
        CHECK(gives.memory_bytes.value == about(wanted.memory_bytes, 0.002));
        CHECK(gives.fits);
        CHECK(gives.step_seconds.relative_bar() > 0.1);
        CHECK(gives.step_seconds.relative_bar() < 0.61);
        CHECK(gives.step_seconds.from == provenance::modelled);
        ++played;
        if (std::abs(gives.step_seconds.value / wanted.step_seconds - 1) < 0.01) ++near;
      }
    }
    CHECK(played > 40);
    CHECK(10 * near > (towers == 1 ? 9 : 6) * played);
  }
}
TEST_CASE("a profile narrows the bar of arithmetic; wires keep theirs") {
  model_shape model;
  model.towers.push(tower_of_layers("a", 4, 512, 64));
  machine_profile measured;
  measured.activation_bytes = 2;
  measured.modules.push({model.towers[0], {}});
  add_point(measured.modules[0], {1, 4, {1, 2, 3}, {10, 20, 30}, {4, 5, 6}});
  const cluster_facts on = wired_cluster(1, 8);
  const comm_table wires = modelled_table(on, 8, 0.3);
  const list<cell_layer> layers = cell_layers_of(model, 16, 4, 16, on.device, {});
  const cell_costs costs({model, on, {}, 64, wires, &measured}, {0, 2, 2}, layers, 4, false);
  const cell_forecast found = forecast_cell(costs, cut_at({2, 4}, 1, 1, 4));
  CHECK(found.step_seconds.relative_bar() == about(0.08, 0.01));
  CHECK(found.step_seconds.from == provenance::modelled);  // of its wires
  const cell_costs alone({model, on, {}, 64, wires, &measured}, {0, 1, 1}, layers, 4, false);
  CHECK(forecast_cell(alone, cut_at({4}, 1, 1, 4)).step_seconds.from == provenance::interpolated);
  CHECK(compared_seconds(costs, cut_at({2, 4}, 1, 1, 4)) == about(found.step_seconds.value));
}
