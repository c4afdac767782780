// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/memory_forecast.hpp>
#include <motet/plan/cost/plan_traffic.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/schedule/core/rules.hpp>
#include <motet/schedule/simulate/analyse.hpp>
#include <motet/strategy/rules.hpp>

namespace motet {

namespace detail {

inline module_forecast estimate_of_module(const plan_pricer& by, const program& of,
                                          const priced_program& priced, isize k, double step) {
  module_forecast out;
  const tower_outline& net = by.model().towers[k];
  const module_plan& own = by.whole().modules[k];
  out.pieces = by.pieces(k);
  for (const voice& each : of.voices) {
    for (std::int32_t s = 0; each.module == k && s < each.stages; ++s) {
      const stage_seconds& at = priced.places[each.first_place + s];
      out.forward_seconds = std::max(out.forward_seconds, at.forward());
      out.backward_seconds = std::max(out.backward_seconds, at.backward());
      out.waits_measured = at.waits_measured;
      if (at.forward() > 0)
        out.forward_waits = std::max(out.forward_waits, at.forward_waits() / at.forward());
      if (at.backward() > 0)
        out.backward_waits =
            std::max(out.backward_waits, (at.input_waits() + at.weight_waits()) / at.backward());
      out.reduction_seconds = std::max(out.reduction_seconds, at.sum * (own.zero > 1 ? own.microbatches : 1));
    }
  }
  tower_outline by_itself = net;
  by_itself.sharers = 1;
  const part_work whole = work_of_layers(by_itself, 0, net.layers);
  out.flops =
      (whole.forward_flops + whole.input_flops + whole.weight_flops) * by.samples_of_group(k) * own.groups();
  const cluster_facts& on = by.cluster();
  list<double> held(on.kinds(), 0);  // ranks of each kind
  for (const std::int32_t rank : own.on.ranks()) held[on.kind(on.node(rank))] += 1;
  double peak = 0;
  for (std::int32_t kind = 0; kind < on.kinds(); ++kind) {
    const device_facts device = on.of_kind(kind).device;
    peak += held[kind] * (by.bytes().activation <= 2 ? device.half_flops : device.single_flops);
  }
  if (step > 0) out.utilisation = out.flops / (peak * step);
  return out;
}

// What each rank of a folded plan may fill: of the ranks that it stands for, the one with least; and which
// that is.
struct folded_rooms {
  list<double> bytes;
  list<std::int32_t> ranks;
  folded_rooms(const folded_plan& of, const cluster_facts& on) : ranks(of.first) {
    for (const std::int32_t rank : ranks) bytes.push(room_of(rank, on));
    for (std::int32_t rank = 0; on.more_runs > 0 && rank < of.kinds.size(); ++rank) {
      const std::int32_t seat = of.kinds[rank];
      if (seat < 0 || room_of(rank, on) >= bytes[seat]) continue;
      bytes[seat] = room_of(rank, on);
      ranks[seat] = rank;
    }
  }
};

}  // namespace detail

// The forecast of a step of `samples` samples: the plan is compiled to its program, which is played on the
// costs that follow from the model's towers and the cluster. The plan's modules may come in any order;
// `out.modules` has the model's. The verdict is that of check_plan() and of the schedule, or that the cluster
// has no such rank. Whether everything fits in memory is left to the reader: fits().
// Asks for: a cluster with all ranks of the plan, and towers in the model's order.
// Memory: the program of the ranks that differ, and its timeline, given back at the end.
// Errors: MT-M03, MT-M04, MT-P01, MT-P02, MT-P03, MT-P04, MT-P05, MT-P06, MT-P07, MT-P09, MT-P10, MT-P11,
// MT-P28, MT-P38, MT-S01, MT-S02, MT-S03, MT-S04, MT-S05, MT-S06, MT-S07, MT-S08, MT-S09, MT-S10, MT-S11,
// MT-S12, MT-S13, MT-S14, MT-S15, MT-S16, MT-S17, MT-S18, MT-S21, MT-S22, MT-S23, MT-S25, MT-S26,
// MT-S31, MT-S32, MT-S33, MT-S34, MT-S35, MT-S36, MT-S37
// Example:
//   double step_seconds(const plan& of, const model_shape& model, const cluster_facts& on) {
//     run_forecast out;
//     return estimate(of, model, on, on.bytes, 4096, out).ok() ? out.step_seconds : -1;
//   }
inline verdict estimate(const plan& of, const model_shape& model, const cluster_facts& on,
                        const training_bytes& bytes, isize samples, run_forecast& out,
                        const estimate_options& options = {}) {
  out = {};
  const list<module_facts> facts = facts_of(model);
  plan whole;
  if (const verdict found = settle_plan(arranged(of, facts), facts, samples, whole); !found.ok())
    return found;
  if (whole.cluster.ranks > on.devices()) return {reason::rank_outside, 0, whole.cluster.ranks, on.devices()};
  const plan_pricer by(whole, model, on, bytes, samples, options);
  const folded_plan folded =
      options.fold ? fold_plan(whole, [&](isize k, std::int32_t replica) { return by.key(k, replica); })
                   : unfolded_plan(whole);
  program made;
  if (const verdict found =
          write_program(folded, facts, made, options.sums_overlap ? lane::reduce : lane::compute);
      !found.ok())
    return found;
  priced_program priced = price(by, folded, made);
  for (const voice& each : made.voices) {
    for (std::int32_t s = 0; s < each.stages; ++s) {
      const isize place = each.first_place + s;
      priced.costs.stages[place].kept_bytes = kept_bytes(by, each.module, s, priced.places[place].remade);
    }
  }

  program_graph graph;
  if (const finding found = build_graph(made, delivery::buffered, graph); !found.ok())
    return {found.why, found.rank, found.at, found.other};
  const auto played = [&](const cost_table& costs, timeline& when) {
    const isize all = made.instructions.size();
    when = {};
    virtual_clock clock(made, graph, costs, when);
    return all > 0 && program_player<virtual_clock>(made, graph, clock).run();
  };
  timeline when, free;
  if (!played(priced.costs, when)) return {reason::deadlock, 0, 0, 0};
  cost_table costs = priced.costs;
  for (double& each : costs.joins) each = priced.join.compute;
  for (isize p = 0; p < costs.reductions.size(); ++p) {
    const stage_seconds& own = priced.places[p];
    costs.stages[p].backward_weight = own.compute.backward_weight;
    costs.stages[p].weight_gaps = 0;
    costs.reductions[p] = 0;
    costs.updates[p] = own.update;
  }
  played(costs, free);

  const analysis found = analyse(made, priced.costs, when);
  const double groups = whole.modules[0].groups();
  // No step is shorter than what its busiest node sends takes.
  out.step_seconds = when.makespan;
  const list<double> traffic = node_traffic_of_kinds(by);
  for (std::int32_t kind = 0; kind < traffic.size(); ++kind) {
    const double own = traffic[kind] + groups * (made.joins > 0 ? priced.join.kind_bytes[kind] : 0);
    out.node_traffic_bytes = std::max(out.node_traffic_bytes, own);
    out.step_seconds = std::max(out.step_seconds, on.of_kind(kind).between.seconds(own));
  }
  out.samples_per_second = out.step_seconds > 0 ? static_cast<double>(samples) / out.step_seconds : 0;
  double busy = 0, held = 0;
  for (std::int32_t rank = 0; rank < made.ranks(); ++rank) {
    busy += folded.members[rank] * found.ranks[rank].busy;
    if (!options.sums_overlap) {
      for (std::int32_t i = made.starts[rank]; i < made.starts[rank + 1]; ++i)
        if (made.instructions[i].what == op::reduce_gradient)
          busy -= folded.members[rank] * (when.finish[i] - when.start[i]);
    }
    held += folded.members[rank];
  }
  if (out.step_seconds > 0) {
    out.bubble_rate = 1 - busy / (held * out.step_seconds);
    out.communication_share = 1 - free.makespan / out.step_seconds;
  }
  out.exchange_bytes = groups * priced.join.bytes;
  out.join_seconds = groups * (priced.join.compute + priced.join.exchange);

  const memory_forecast memory = memory_of(by, made, priced);
  const detail::folded_rooms rooms(folded, on);
  double most_room = rooms.bytes.empty() ? 0 : rooms.bytes[0];  // of the fullest rank
  for (std::int32_t rank = 0; rank < made.ranks(); ++rank) {
    const double own = memory.ranks[rank].total(), room = rooms.bytes[rank];
    const bool fuller =
        room == most_room ? own > out.memory_bytes : own * most_room > out.memory_bytes * room;
    if (folded.members[rank] == 0 || !fuller) continue;
    out.memory_bytes = own;
    out.fullest_rank = rooms.ranks[rank];
    most_room = room;
  }
  for (isize k = 0; k < facts.size(); ++k) {
    out.modules.push(detail::estimate_of_module(by, made, priced, k, out.step_seconds));
    out.modules.back().bytes = memory.modules[k];
  }
  return {};
}

// Says whether every rank has room for what a forecast of a plan says. The fullest one tells.
inline bool fits(const run_forecast& gives, const cluster_facts& on) {
  return gives.memory_bytes <= room_of(gives.fullest_rank, on);
}

}  // namespace motet
