// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/simulate/simulate.hpp>

namespace motet {

constexpr double median(list<double> values) {
  const index size = values.size();
  if (size == 0) return 0;
  sort_stably(values, [](double left, double right) { return left < right; });
  return (values[size / 2] + values[(size - 1) / 2]) / 2;
}

// What the instructions of a program took in real runs of it: the median of each operation at each stage,
// over microbatches and steps. With it simulate() foretells the time of such a step, and of others with the
// same stages.
constexpr cost_table measured_costs(const program& of, const list<timeline>& steps) {
  enum { forward, backward_input, backward_weight, backward, update, kinds };
  list<list<double>> spent[kinds];
  for (auto& each : spent) each.resize(of.places.size(), {});
  list<double> reductions, gathers, loads, copies, arrivals;
  list<list<double>> meetings(of.joins, {});
  // Each receive finds its send here.
  list<std::int32_t> sends(3 * of.cells(), -1);
  const auto message = [&of](const instruction& it, std::int32_t receiver) {
    return message_kind(it.what) * of.cells() + of.voices[it.voice].cell(receiver, it.microbatch);
  };
  for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
    const instruction& it = of.instructions[i];
    if (is_send(it.what)) sends[message(it, it.stage + (it.what == op::send_backward ? -1 : 1))] = i;
  }

  for (const timeline& when : steps) {
    list<list<double>> groups(of.joins, {});
    for (index i = 0; i < of.instructions.size(); ++i) {
      const instruction& it = of.instructions[i];
      const double took = when.finish[i] - when.start[i];
      if (it.what == op::join) {
        // Members work side by side; the slowest counts.
        list<double>& own = groups[it.voice];
        if (own.size() <= it.microbatch) own.resize(it.microbatch + 1, 0);
        if (took > own[it.microbatch]) own[it.microbatch] = took;
        continue;
      }
      const index place = of.voices[it.voice].first_place + it.stage;
      switch (it.what) {
        case op::reduce_gradient: reductions.push(took); break;
        case op::gather_parameters: gathers.push(took); break;
        case op::load: loads.push(took); break;
        case op::offload:
        case op::fetch: copies.push(took); break;
        case op::optimizer_step: spent[update][place].push(took); break;
        case op::backward: spent[backward][place].push(took); break;
        case op::backward_input: spent[backward_input][place].push(took); break;
        case op::backward_weight: spent[backward_weight][place].push(took); break;
        default:
          if (is_forward(it.what)) spent[forward][place].push(took);
          if (is_receive(it.what)) arrivals.push(when.finish[i] - when.start[sends[message(it, it.stage)]]);
      }
    }
    for (index j = 0; j < of.joins; ++j) meetings[j].append(groups[j].data(), groups[j].size());
  }

  cost_table made;
  for (index place = 0; place < of.places.size(); ++place) {
    stage_cost own{median(spent[forward][place]), median(spent[backward_input][place]),
                   median(spent[backward_weight][place])};
    // What ran as one is divided evenly; simulate() adds the halves up again.
    if (spent[backward_input][place].empty())
      own.backward_input = own.backward_weight = median(spent[backward][place]) / 2;
    made.stages.push(own);
    made.updates.push(median(spent[update][place]));
  }
  for (const list<double>& each : meetings) made.joins.push(median(each));
  made.reduction = median(reductions);
  made.gather = median(gathers);
  made.load = median(loads);
  made.copy = median(copies);
  // What found its rank busy was received later than the wire made it, so the shortest way counts.
  for (index i = 0; i < arrivals.size(); ++i)
    if (i == 0 || arrivals[i] < made.wires.inside.latency) made.wires.inside.latency = arrivals[i];
  return made;
}

}  // namespace motet
