// SPDX-License-Identifier: Apache-2.0
#include "../estimated_models.hpp"
#include "drawn_cells.hpp"

using namespace motet;

TEST_CASE("microbatches divide the batch and leave a sample for each device of a stage") {
  CHECK(microbatches_of({0, 8, 2}, 256, 4) == 8);
  CHECK(microbatches_of({0, 8, 4}, 60, 4) == 15);
  CHECK(microbatches_of({0, 16, 1}, 32, 4) == 2);
  CHECK(microbatches_of({0, 8, 1}, 4, 4) == 1);
}
TEST_CASE("equal layers are cut evenly, and devices shared by what sends least") {
  model_shape model;
  model.towers.push(tower_of_layers("a", 8, 1024, 256));
  const cell_answer found = plan_cell(model, wired_cluster(1, 8), {}, 64, {0, 8, 4});
  CHECK(found.plans.size() > 0);
  for (const cell_stage& each : found.plans[0].stages) CHECK(each.last - each.first == 2);
  CHECK(found.considered == 1);  // others leave a stage less than 0.7 of its share
  // One stage of few samples and many rows: sums of gradients are less than rows of tensor groups.
  const cell_answer one = plan_cell(model, wired_cluster(1, 8), {}, 64, {0, 8, 1});
  CHECK(one.plans[0].stages[0].data == 8);
}
TEST_CASE("what does not fit as it is makes forwards again, and else has no plan") {
  model_shape model;
  model.towers.push(tower_of_layers("a", 8, 1024, 1024));
  cluster_facts on = wired_cluster(1, 8);
  const job_cell cell{0, 2, 2};
  CHECK_FALSE(plan_cell(model, on, {}, 256, cell).plans[0].remade);
  on.device.memory_bytes = 5e9;
  const cell_answer again = plan_cell(model, on, {}, 256, cell);
  CHECK(again.plans[0].remade);
  on.device.memory_bytes = 1e9;
  CHECK(plan_cell(model, on, {}, 256, cell).plans.empty());
  // Fewer layers than stages.
  model.towers[0].layers = 2;
  CHECK(plan_cell(model, wired_cluster(1, 8), {}, 256, {0, 8, 4}).plans.empty());
}
TEST_CASE("stages may have unlike numbers of devices: powers of two that add up, nearest to their loads") {
  cell_draws draws(1);
  for (int i = 0; i < 40; ++i) {
    const drawn_cell each = draws.next();
    CAPTURE(i);
    const cell_answer alike = plan_cell(each.model, each.kind, each.kind.bytes, each.samples, each.cell),
                      free = plan_cell(each.model, each.kind, each.kind.bytes, each.samples, each.cell,
                                       {.alike = false});
    for (const cell_answer* const answer : {&alike, &free})
      for (const cell_plan& one : answer->plans) {
        CHECK(one.devices() == each.cell.devices);
        CHECK(one.stages.size() == each.cell.stages);
        CHECK(one.stages[0].first == 0);
        CHECK(one.stages[one.stages.size() - 1].last == answer->layers.size());
        for (isize s = 1; s < one.stages.size(); ++s) CHECK(one.stages[s].first == one.stages[s - 1].last);
      }
    for (const cell_plan& one : alike.plans) CHECK(one.alike());
    // A wider choice is never less even.
    if (!alike.plans.empty() && !free.plans.empty() && alike.plans[0].remade == free.plans[0].remade)
      CHECK(free.plans[0].imbalance <= alike.plans[0].imbalance + 1e-9);
  }
}
TEST_CASE("C8, the published rule: how even and how much is sent decides") {
  // An independent look at all cuts: none is more even than the proxy.
  cell_draws draws(1);
  for (int i = 0; i < 20; ++i) {
    const drawn_cell each = draws.next();
    const cell_answer found = plan_cell(each.model, each.kind, each.kind.bytes, each.samples, each.cell);
    if (found.plans.empty() || found.plans[0].remade) continue;
    double all = 0, best = 1e300;
    for (const cell_layer& layer : found.layers) all += layer.load;
    each_cut(found.layers.size(), each.cell.stages, [&](const std::vector<std::int32_t>& ends) {
      double sum = 0;
      std::int32_t first = 0;
      for (const std::int32_t last : ends) {
        double load = 0;
        for (; first < last; ++first) load += found.layers[first].load;
        const double off = each.cell.devices * (load / all - 1.0 / each.cell.stages);
        sum += off * off;
      }
      best = std::min(best, std::sqrt(sum));
    });
    CHECK(found.plans[0].imbalance == doctest::Approx(best).epsilon(1e-9));
  }
}
