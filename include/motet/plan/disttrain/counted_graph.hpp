// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/measured_gaps.hpp>
#include <motet/plan/cost/module_times.hpp>
#include <motet/plan/describe/cluster_kinds.hpp>
#include <motet/plan/describe/model_facts.hpp>
#include <motet/plan/disttrain/measured_pace.hpp>
#include <motet/plan/disttrain/played_step.hpp>
#include <motet/plan/order/step_headers.hpp>
#include <motet/plan/order/step_order.hpp>
#include <motet/strategy/mesh.hpp>

#include <algorithm>

namespace motet {

// What the longest sample that a module takes costs each rank of a tensor and context group, through the
// whole module, as it was counted.
struct counted_module {
  double forward_flops = 0, input_flops = 0, weight_flops = 0;
  double forward_bytes = 0, backward_bytes = 0;   // that come from the others of the group
  double boundary_bytes = 0, returned_bytes = 0;  // of its rows, and of gradients that go back before it
  double parameters = 0;                          // that a rank holds

  constexpr double flops() const { return forward_flops + input_flops + weight_flops; }
};

// Modules that feed each other, counted with their layers cut in so many parts, and their samples' rows, and
// with experts that so many replicas share.
struct counted_cut {
  std::int32_t tensor = 1, context = 1, experts = 1;
  list<counted_module> modules{};  // in the model's order; those whose samples cannot be cut take whole ones
};

// A question for orchestrate(): which plan of a model, for some steps of its data, on a cluster.
struct counted_graph {
  list<module_facts> facts;
  list<counted_cut> cuts;  // the first one has whole layers and samples, and all experts
  cluster_facts on;        // of one kind
  double device_flops = 0;
  list<measured_pace> paces{};  // of each module; none: all take what their FLOPs tell
  list<measured_gaps> gaps{};   // of modules that were measured; others wait for the bytes of their groups
  list<module_times> times{};   // of recorded steps, which tell of a module before its pace does
  isize samples = 0;            // of a step
  list<step_headers> steps;     // work as a share of that of the longest sample
  std::int32_t ranks = 0;
  step_questions ordered{false, false};  // that a run asks of the order of each step's samples
  bool may_cut_apart = false;            // so that each module has owners of its own (cut_apart)

  // The rows of samples are cut of the modules with a loss, which have long ones; and of those before it
  // where each part has a tile of a product's rows (0165).
  bool cuts_rows(isize module, std::int32_t parts) const {
    constexpr isize fewest_rows = 64;
    const module_facts& own = facts[module];
    return own.attends && (own.meets || own.rows >= fewest_rows * parts);
  }
  // Some module of a plan that stands before the loss has its samples' rows cut.
  bool cuts_before_loss(const plan& how) const {
    for (isize k = 0; k < facts.size(); ++k)
      if (!facts[k].meets && how.modules[k].on.split().context > 1) return true;
    return false;
  }
  // A sample brings this to a module on average.
  double mean_load(isize module) const {
    double sum = 0, count = 0;
    for (const step_headers& each : steps)
      for (std::int32_t s = 0; s < each.samples; ++s) {
        sum += each.work_of(static_cast<std::int32_t>(module), s);
        count += 1;
      }
    return count > 0 ? sum / count : 1;
  }
  list<double> mean_loads() const {
    list<double> out;
    for (isize k = 0; k < facts.size(); ++k) out.push(mean_load(k));
    return out;
  }
  // The module's share of all work of a step.
  double share(isize module) const {
    double all = 0, own = 0;
    for (isize k = 0; k < facts.size(); ++k) {
      const double work = cuts[0].modules[k].flops() * mean_load(k);
      all += work;
      if (k == module) own = work;
    }
    return all > 0 ? own / all : 1.0 / static_cast<double>(facts.size());
  }
  bool has_cut(const degrees& split) const {
    for (const counted_cut& each : cuts)
      if (each.tensor == split.tensor && each.context == split.context) return true;
    return false;
  }
  const counted_module& counted(isize module, const degrees& split, std::int32_t experts = 1) const {
    for (const counted_cut& each : cuts)
      if (each.tensor == split.tensor && each.context == split.context && each.experts == experts)
        return each.modules[module];
    return experts > 1 ? counted(module, split) : cuts[0].modules[module];
  }
  // The share that experts are of the parameters that a rank of a plan holds of a module; other replicas hold
  // other experts.
  double share_of_experts(isize module, const module_plan& own) const {
    const degrees& split = own.on.split();
    const double all = counted(module, split).parameters,
                 held = counted(module, split, own.experts).parameters;
    return own.experts > 1 && held > 0 ? (all - held) / (own.experts - 1) / held : 0;
  }
  // A rank of a plan takes so long to sum the gradients of `parameters` of a module with others.
  double sum_seconds_of(isize module, const module_plan& own, double parameters, bool crosses_nodes) const {
    const double experts = share_of_experts(module, own) * parameters;
    const isize copies = isize{own.on.split().data} * own.on.split().context;
    return sum_seconds(parameters - experts, copies, crosses_nodes, on) +
           sum_seconds(experts, copies / own.experts, crosses_nodes, on);
  }
  // A rank takes so long for FLOPs of each kind, in microbatches that bring `load` longest samples to it.
  counted_seconds seconds(isize module, const degrees& split, double load) const {
    const counted_seconds whole{1 / device_flops, 1 / device_flops, 1 / device_flops};
    const double flops = counted(module, split).forward_flops * load;
    if (const module_times* const found = recorded(module, split)) {
      const counted_seconds pace = pace_at(*found, flops);
      const auto known = [](double measured, double counted) { return measured > 0 ? measured : counted; };
      return {known(pace.forward, whole.forward), known(pace.input, whole.input),
              known(pace.weight, whole.weight)};
    }
    if (module >= paces.size() || paces[module].measured == nullptr) return whole;
    return paces[module].seconds(flops, split.tensor, whole);
  }
  // A device is as fast as one thread that was measured.
  const module_times* recorded(isize module, const degrees& split) const {
    return find_times(times, facts[module].name, split, 1);
  }
  // An operation of a module that computes for so long waits so long for others of its groups, from whom so
  // many bytes come.
  double waits(const module_plan& own, double gap_shares::*share, double computes, double bytes) const {
    const gap_shares* const found = find_gaps(gaps, own.name, gap_degrees_of(own));
    return found != nullptr ? waited_beside(computes, found->*share) : on.inside.seconds(bytes);
  }
  // All ranks of a plan, in nodes.
  cluster_shape shape() const {
    cluster_shape out;
    out.ranks = ranks;
    if (on.devices_per_node < ranks) out.ranks_per_node = on.devices_per_node;
    return out;
  }
};

}  // namespace motet
