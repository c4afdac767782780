// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cells/cell_layers.hpp>
#include <motet/plan/cells/job_cell.hpp>
#include <motet/plan/describe/plan.hpp>

#include <algorithm>

namespace motet {

// A stage of a cell has runs of layers [first, last), and devices that share its work in replicas and tensor
// parts.
struct cell_stage {
  std::int32_t first = 0, last = 0;
  std::int32_t data = 1, tensor = 1;
  constexpr std::int32_t devices() const { return data * tensor; }
  friend constexpr bool operator==(const cell_stage&, const cell_stage&) = default;
};

// One way to run a job within a cell. Unlike a `plan` it may split each stage in another way.
struct cell_plan {
  list<cell_stage> stages;
  int microbatches = 1;
  bool remade = false;       // backward makes again what it needs
  double imbalance = 0;      // how far numbers of devices are from shares of the load, as a distance
  double communication = 0;  // seconds of a step, one stage behind the other

  // Says whether all stages are split in one way, as those of a module in a `plan` are.
  constexpr bool alike() const {
    for (const cell_stage& each : stages)
      if (each.data != stages[0].data || each.tensor != stages[0].tensor) return false;
    return true;
  }
  constexpr std::int32_t devices() const {
    std::int32_t sum = 0;
    for (const cell_stage& each : stages) sum += each.devices();
    return sum;
  }
};

// A tower's part of a stage.
struct stage_part {
  isize tower = 0;
  interval blocks{};
};
constexpr list<stage_part> parts_of(const cell_stage& of, const list<cell_layer>& layers) {
  list<stage_part> out;
  for (isize i = of.first; i < of.last; ++i) {
    if (out.empty() || out.back().tower != layers[i].tower) out.push({layers[i].tower, layers[i].blocks});
    out.back().blocks.end = layers[i].blocks.end;
  }
  return out;
}

// A cell_plan whose stages are alike becomes a plan that the library proves, simulates and runs. Stages have
// the devices of the cell in a row. One tower has a loss for each microbatch and runs them one forward, one
// backward; several meet in one loss of all samples.
constexpr plan plan_of(const cell_plan& of, const list<cell_layer>& layers, const model_shape& model,
                       const cluster_facts& on) {
  plan out;
  out.cluster.ranks = of.devices();
  out.cluster.ranks_per_node = on.nodes > 1 ? on.devices_per_node : 0;
  const bool alone = model.towers.size() == 1;
  out.schedule = alone ? "1f1b" : "batch_sync";
  const cell_stage& any = of.stages[0];
  for (isize k = 0; k < model.towers.size(); ++k) {
    module_plan own;
    own.name = model.towers[k].name;
    own.microbatches = of.microbatches;
    own.group = alone ? 1 : 0;
    list<std::int32_t> ranks;
    for (isize s = 0; s < of.stages.size(); ++s)
      for (const stage_part& each : parts_of(of.stages[s], layers)) {
        if (each.tower != k) continue;
        own.layers.push(each.blocks.size());
        if (of.remade && !model.towers[k].frozen && !model.towers[k].cached) own.remade.push(1);
        for (std::int32_t d = 0; d < any.devices(); ++d)
          ranks.push(static_cast<std::int32_t>(s) * any.devices() + d);
      }
    const auto stages = static_cast<std::int32_t>(own.layers.size());
    own.on = mesh({stages, any.data, 1, any.tensor}, ranks);
    out.modules.push(own);
  }
  return out;
}

}  // namespace motet
