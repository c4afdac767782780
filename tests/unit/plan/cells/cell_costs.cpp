// SPDX-License-Identifier: Apache-2.0
#include "../estimated_models.hpp"

#include <motet/plan/cells/cell_costs.hpp>

using namespace motet;

TEST_CASE("a stage's price is that of the library's own plans") {
  model_shape model;
  model.towers.push(tower_of_layers("a", 8, 1024, 256));
  const cluster_facts on = wired_cluster(2, 4);
  const training_bytes bytes;
  const comm_table wires = modelled_table(on, 8, 0.3);
  const job_cell cell{0, 8, 2};
  const list<cell_layer> layers = cell_layers_of(model, 16, 8, 16, on.device, bytes);
  machine_profile seen;
  seen.activation_bytes = bytes.activation;
  seen.gaps.push({"a", {.tensor = 2}, {.forward = 0.25, .input = 0.5, .weight = 0.125}});
  for (int k = 0; k < 4; ++k) {
    const bool remade = k % 2 == 1;
    const machine_profile* const measured = k < 2 ? nullptr : &seen;
    for (std::int32_t tensor = 1; tensor <= 4; tensor *= 2) {
      CAPTURE(tensor);
      cell_plan of;
      of.microbatches = 8;
      of.remade = remade;
      of.stages = {{0, 3, 4 / tensor, tensor}, {3, 8, 4 / tensor, tensor}};
      const cell_costs costs({model, on, bytes, 128, wires, measured}, cell, layers, 8, remade);
      const plan made = plan_of(of, layers, model, on);
      const plan_pricer pricer(made, model, on, bytes, 128, {.measured = measured});
      for (std::int32_t s = 0; s < 2; ++s) {
        const cell_stage& stage = of.stages[s];
        const std::int32_t leaves = costs.leaving(4 * s, stage);
        const part_price& own = costs.part(0, {s == 0 ? 0 : 3, s == 0 ? 3 : 8}, stage, leaves);
        const stage_seconds wanted = pricer.stage(0, s, 0, s, s == 0 ? 1 : -1);
        CHECK(own.waits_measured == (measured != nullptr && tensor == 2));
        CHECK(own.forth() == about(wanted.forward(), 0.02));
        CHECK(own.back() == about(wanted.backward(), 0.02));
        CHECK(own.update == about(wanted.update));
        if (s == 0) CHECK(own.message == about(wanted.message, 0.02));
        if (tensor < 4) CHECK(own.sum_left == about(wanted.sum_left, 0.1));
        CHECK(own.kept == doctest::Approx(kept_bytes(pricer, 0, s, remade)));
        CHECK(own.standing + own.again == about(standing_bytes(pricer, 0, s, remade).total()));
      }
      CHECK(costs.leaving(0, of.stages[0]) == 4);
    }
  }
}
TEST_CASE("what heads or samples forbid does not fit; frozen and cached towers have no backward") {
  model_shape model;
  model.towers.push(tower_of_layers("a", 4, 512, 64));
  model.towers[0].heads = 2;
  const cluster_facts on = wired_cluster(1, 8);
  const comm_table wires = modelled_table(on, 8, 0.3);
  const list<cell_layer> layers = cell_layers_of(model, 4, 1, 16, on.device, {});
  const cell_costs costs({model, on, {}, 4, wires}, {0, 8, 1}, layers, 1, false);
  CHECK_FALSE(costs.part(0, {0, 4}, {0, 4, 2, 4}, 0).fits);
  CHECK_FALSE(costs.part(0, {0, 4}, {0, 4, 8, 1}, 0).fits);
  CHECK(costs.part(0, {0, 4}, {0, 4, 4, 2}, 0).fits);
  for (bool tower_outline::*const how : {&tower_outline::frozen, &tower_outline::cached}) {
    model_shape still = model;
    still.towers[0].*how = true;
    const cell_costs none({still, on, {}, 4, wires}, {0, 8, 1}, layers, 1, false);
    CHECK(none.part(0, {0, 4}, {0, 4, 4, 2}, 0).back() == 0);
    CHECK(none.part(0, {0, 4}, {0, 4, 4, 2}, 0).forth() > 0);
    CHECK_FALSE(none.learns(0));
  }
}
TEST_CASE("a profile of one device tells what its towers take") {
  model_shape model;
  model.towers.push(tower_of_layers("a", 4, 512, 64));
  machine_profile measured;
  measured.activation_bytes = 2;
  measured.modules.push({model.towers[0], {}});
  add_point(measured.modules[0], {1, 4, {1, 2, 3}, {10, 20, 30}, {4, 5, 6}});
  const cluster_facts on = wired_cluster(1, 8);
  const comm_table wires = modelled_table(on, 8, 0.3);
  const list<cell_layer> layers = cell_layers_of(model, 4, 1, 16, on.device, {});
  const cell_costs costs({model, on, {}, 4, wires, &measured}, {0, 1, 1}, layers, 1, false);
  CHECK(costs.profiled(0));
  CHECK(costs.part(0, {0, 4}, {0, 4, 1, 1}, 0).forward == about(1 + 4 * 10 + 4));
  CHECK(costs.part(0, {0, 4}, {0, 4, 1, 1}, 0).backward == about(5 + 4 * 50 + 11));
}
