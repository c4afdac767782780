// SPDX-License-Identifier: Apache-2.0
#include "../estimated_models.hpp"

#include <motet/plan/cells/cell_plan.hpp>

using namespace motet;

TEST_CASE("a plan of one tower whose stages are alike is a plan that the library proves") {
  model_shape model;
  model.towers.push(tower_of_layers("a", 6, 512, 64));
  const cluster_facts on = wired_cluster(2, 4);
  const list<cell_layer> layers = cell_layers_of(model, 16, 4, 16, on.device, {});
  cell_plan of;
  of.microbatches = 4;
  of.stages = {{0, 2, 2, 2}, {2, 6, 2, 2}};
  CHECK(of.alike());
  CHECK(of.devices() == 8);
  const plan made = plan_of(of, layers, model, on);
  CHECK(made.modules[0].layers == list<isize>{2, 4});
  CHECK(made.modules[0].on.split() == degrees{2, 2, 1, 2});
  CHECK(made.cluster.ranks_per_node == 4);
  CHECK(prove_plan(made, facts_of(model), 64).ok());
  of.stages[1].data = 4, of.stages[1].tensor = 1;
  CHECK_FALSE(of.alike());
}
TEST_CASE(
    "towers one behind the other share the stage that holds the end of one and the beginning of the next") {
  const model_shape model = pictures_and_captions();
  const cluster_facts on = wired_cluster(1, 4);
  const list<cell_layer> layers = cell_layers_of(model, 16, 4, 16, on.device, {});
  cell_plan of;
  of.microbatches = 4;
  of.remade = true;
  of.stages = {{0, 7, 2, 1}, {7, 12, 2, 1}};
  CHECK(parts_of(of.stages[1], layers).size() == 2);
  const plan made = plan_of(of, layers, model, on);
  CHECK(made.modules[0].layers == list<isize>{7, 1});
  CHECK(made.modules[1].layers == list<isize>{4});
  CHECK(made.modules[1].on.ranks() == list<std::int32_t>{2, 3});
  CHECK(made.modules[0].remade.size() == 2);
  CHECK(prove_plan(made, facts_of(model), 64).ok());
}
