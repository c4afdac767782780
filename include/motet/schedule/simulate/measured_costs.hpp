// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/simulate/seconds_by_itself.hpp>

#include <algorithm>

namespace motet {

constexpr double median(list<double> values) {
  const isize size = values.size();
  if (size == 0) return 0;
  sort_stably(values, [](double left, double right) { return left < right; });
  return (values[size / 2] + values[(size - 1) / 2]) / 2;
}

// The time that each instruction waited for others of its groups.
constexpr list<double> waits_inside(const program& of, const timeline& when) {
  list<double> out(of.instructions.size(), 0);
  for (const timeline::gap& each : when.gaps) out[each.instruction] += each.finish - each.start;
  return out;
}

namespace detail {

// Each receive of a program finds its send here.
class sends_of_receives {
 public:
  constexpr explicit sends_of_receives(const program& of)
      : of_(of), links_(of.voices, of.feeds), sends_(3 * links_.messages(of.cells()), -1) {
    for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
      const instruction& it = of.instructions[i];
      if (!is_send(it.what)) continue;
      const linked_cell to =
          links_.other_end(true, message_kind(it.what), it.voice, it.stage, it.microbatch, it.part);
      sends_[number(it.what, to)] = i;
    }
  }
  constexpr std::int32_t of(const instruction& receive) const {
    return sends_[number(receive.what, {{receive.voice, receive.stage, receive.microbatch}, receive.part})];
  }

 private:
  // Numbers the message that brings a cell a part of its rows.
  constexpr isize number(op what, const linked_cell& to) const {
    const int kind = message_kind(what);
    return kind * links_.messages(of_.cells()) +
           links_.message(of_.cells(), kind, to.at.voice, to.at.stage, to.at.microbatch, to.part);
  }

  const program& of_;
  cell_links links_;
  list<std::int32_t> sends_;
};

// Knows when the last backward ended of what a sum of gradients sums: of a stage in all copies of its module,
// which may have other numbers of stages.
class last_backwards {
 public:
  constexpr last_backwards(const program& of, const timeline& when) : of_(of), ends_(of.places.size(), 0) {
    for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
      const instruction& it = of.instructions[i];
      if (!is_backward(it.what)) continue;
      double& end = ends_[of.voices[it.voice].first_place + it.stage];
      end = std::max(end, when.finish[i]);
    }
  }
  constexpr double before(const instruction& reduces) const {
    const voice& own = of_.voices[reduces.voice];
    double latest = 0;
    for (const voice& each : of_.voices) {
      if (each.module != own.module) continue;
      for (std::int32_t s = 0; s < each.stages; ++s)
        if (s * own.stages < (reduces.stage + 1) * each.stages &&
            reduces.stage * each.stages < (s + 1) * own.stages)
          latest = std::max(latest, ends_[each.first_place + s]);
    }
    return latest;
  }

 private:
  const program& of_;
  list<double> ends_;
};

// Medians of waits and of whole times may be of different microbatches, and a lane that shared its device was
// given less time than it waited; some of an operation is always work.
constexpr double gaps_within(double waits, double seconds) {
  const double most = 0.99 * seconds;
  return waits < most ? waits : most;
}

}  // namespace detail

// The instructions of a program took this in real runs of it: the median of each operation at each stage,
// over microbatches and steps. With it simulate() foretells the time of such a step, and of others with the
// same stages. Gaps inside operations are those that were recorded. How lanes share a rank is as `sharing`
// says, then and now.
constexpr cost_table measured_costs(const program& of, const list<timeline>& steps,
                                    const cost_table& sharing = {}) {
  enum { forward, backward_input, backward_weight, backward, update, kinds };
  list<list<double>> spent[kinds], waited[kinds];
  for (auto& each : spent) each.resize(of.places.size(), {});
  for (auto& each : waited) each.resize(of.places.size(), {});
  list<double> reductions, gathers, loads, copies, arrivals;
  list<list<double>> meetings(of.joins, {});
  const detail::sends_of_receives sends(of);

  for (const timeline& when : steps) {
    list<list<double>> groups(of.joins, {});
    const list<double> seconds = seconds_by_itself(of, when, sharing), waits = waits_inside(of, when);
    const detail::last_backwards backwards(of, when);
    for (isize i = 0; i < of.instructions.size(); ++i) {
      const instruction& it = of.instructions[i];
      const double took = seconds[i];
      if (it.what == op::join) {
        // Members work side by side; the slowest counts.
        list<double>& own = groups[it.voice];
        if (own.size() <= it.microbatch) own.resize(it.microbatch + 1, 0);
        if (took > own[it.microbatch]) own[it.microbatch] = took;
        continue;
      }
      const isize place = of.voices[it.voice].first_place + it.stage;
      const int kind = is_forward(it.what)              ? forward
                       : it.what == op::backward_input  ? backward_input
                       : it.what == op::backward_weight ? backward_weight
                       : it.what == op::backward        ? backward
                                                        : kinds;
      if (kind < update) {
        spent[kind][place].push(took);
        waited[kind][place].push(waits[i]);
      }
      switch (it.what) {
        // It may begin while backward goes on, here or elsewhere: what is left behind that is what it costs.
        case op::reduce_gradient:
          reductions.push(std::max(0.0, std::min(took, when.finish[i] - backwards.before(it))));
          break;
        case op::gather_parameters: gathers.push(took); break;
        case op::load: loads.push(took); break;
        case op::offload:
        case op::fetch: copies.push(took); break;
        case op::optimizer_step: spent[update][place].push(took); break;
        default:
          if (is_receive(it.what)) arrivals.push(when.finish[i] - when.start[sends.of(it)]);
      }
    }
    for (isize j = 0; j < of.joins; ++j) meetings[j].append(groups[j].data(), groups[j].size());
  }

  cost_table made;
  made.shares = sharing.shares;
  made.beside_others = sharing.beside_others;
  made.by_itself = sharing.by_itself;
  made.processors = sharing.processors;
  for (isize place = 0; place < of.places.size(); ++place) {
    stage_cost own{median(spent[forward][place]), median(spent[backward_input][place]),
                   median(spent[backward_weight][place])};
    // A backward that ran as one is divided evenly; simulate() adds the halves up again.
    if (spent[backward_input][place].empty())
      own.backward_input = own.backward_weight = median(spent[backward][place]) / 2;
    own.forward_gaps = detail::gaps_within(median(waited[forward][place]), own.forward);
    own.input_gaps = detail::gaps_within(median(waited[backward_input][place]), own.backward_input);
    own.weight_gaps = detail::gaps_within(median(waited[backward_weight][place]), own.backward_weight);
    if (spent[backward_input][place].empty())
      own.input_gaps = own.weight_gaps =
          detail::gaps_within(median(waited[backward][place]) / 2, own.backward_input);
    made.stages.push(own);
    made.updates.push(median(spent[update][place]));
  }
  for (const list<double>& each : meetings) made.joins.push(median(each));
  made.reduction = median(reductions);
  made.gather = median(gathers);
  made.load = median(loads);
  made.copy = median(copies);
  // A message that found its rank busy was received later than the wire made it, so the shortest way counts.
  for (isize i = 0; i < arrivals.size(); ++i)
    if (i == 0 || arrivals[i] < made.wires.inside.latency) made.wires.inside.latency = arrivals[i];
  return made;
}

}  // namespace motet
