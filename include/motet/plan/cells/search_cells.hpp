// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cells/choose_plan.hpp>

#include <algorithm>
#include <vector>

namespace motet {

// The choice says by which rule a plan stands for a cell.
enum class cell_choice : std::uint8_t {
  published,  // the most even one, then the one that sends least
  estimated   // the one that takes least by the library's costs
};

struct cell_options {
  cell_choice by = cell_choice::estimated;
  cell_limits limits = {};
  cell_rules rules = {};
  cell_bars bars = {};
  training_bytes bytes = {};
  const machine_profile* measured = nullptr;  // of one device, of the cluster's first kind
  const comm_table* wires = nullptr;          // likewise; null: modelled from the cluster's
};

// A cell with the plan that stands for it.
struct cell_row {
  job_cell cell;
  bool runs = false;  // some plan of it fits into memory
  list<cell_layer> layers;
  cell_plan proxy;
  cell_forecast gives;
  isize considered = 0;
};

// One cell. `wires` has the groups of the cell.
cell_row price_cell(const model_shape& model, const cluster_facts& kind, isize samples, const job_cell& cell,
                    const comm_table& wires, const cell_options& options = {});

// All cells of a job on a cluster, by kinds of its devices, then by devices, then by stages.
std::vector<cell_row> search_cells(const model_shape& model, const cluster_facts& on, isize samples,
                                   const cell_options& options = {});

#if !defined(MOTET_COMPILED_PLANNER)
MOTET_BODY cell_row price_cell(const model_shape& model, const cluster_facts& kind, isize samples,
                               const job_cell& cell, const comm_table& wires, const cell_options& options) {
  cell_row out;
  out.cell = cell;
  cell_rules rules = options.rules;
  if (options.by == cell_choice::estimated) rules.alike = true;
  cell_answer found = plan_cell(model, kind, options.bytes, samples, cell, rules);
  out.considered = found.considered;
  if (found.plans.empty()) return out;
  out.layers = std::move(found.layers);
  out.proxy = found.plans[0];
  const cell_costs costs({model, kind, options.bytes, samples, wires, options.measured, options.bars}, cell,
                         out.layers, out.proxy.microbatches, out.proxy.remade);
  if (options.by == cell_choice::estimated) out.proxy = choose_plan(costs, out.proxy);
  out.gives = forecast_cell(costs, out.proxy);
  out.runs = out.gives.fits;
  return out;
}

MOTET_BODY std::vector<cell_row> search_cells(const model_shape& model, const cluster_facts& on,
                                              isize samples, const cell_options& options) {
  std::vector<cell_row> out;
  for (std::int32_t number = 0; number < on.kinds(); ++number) {
    const cluster_facts kind = of_kinds(on, 1u << number);
    cell_options own = options;
    if (number > 0) own.measured = nullptr, own.wires = nullptr;
    comm_table modelled;
    if (own.wires == nullptr) modelled = modelled_table(kind, own.limits.devices, own.bars.wires);
    for (const job_cell& each : job_cells(model, kind, number, own.limits))
      out.push_back(
          price_cell(model, kind, samples, each, own.wires != nullptr ? *own.wires : modelled, own));
  }
  return out;
}
#endif

// The row that takes least; null where none runs.
inline const cell_row* fastest(const std::vector<cell_row>& of) {
  const cell_row* best = nullptr;
  for (const cell_row& each : of)
    if (each.runs && (best == nullptr || each.gives.step_seconds.value < best->gives.step_seconds.value))
      best = &each;
  return best;
}

}  // namespace motet
