// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/optimus/filled_model.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/place/deferral.hpp>
#include <motet/schedule/write/schedules.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace motet {

// A time in which a device's arithmetic waits.
struct time_slot {
  double start = 0, end = 0;
  double length() const { return end - start; }
};

// Gaps are what the language model's pipeline leaves of a step, in seconds from its start: the gathering of
// weights comes first.
struct pipeline_gaps {
  double seconds = 0;                          // of the step, with what comes before and behind
  std::vector<double> first, last;             // of each device, when its own work begins and ends
  std::vector<std::vector<time_slot>> inside;  // of each device, between those
  std::vector<double> needed, given;  // of each microbatch, when it must be there, and when its gradients are
  std::vector<double> busy, exchanging;  // of each device, in arithmetic and in exchanges of its tensor group
  std::vector<double> bytes;     // of each device, at most: of its weights and of what it keeps for backward
  double front = 0, behind = 0;  // gathering and summing
};

// A stage of a pipeline, and what a microbatch takes of it.
struct pipeline_stage {
  double forward = 0, backward = 0;  // seconds, with exchanges
  isize exchanges_forward = 0, exchanges_back = 0;
  double waits_forward = 0, waits_back = 0;  // seconds of these
  double bytes = 0, kept = 0;  // on each of its devices: always, and of a microbatch until its backward

  // So many layers of a part, all of which is on these devices but for their stages.
  void add(const filled_costs& costs, const layered_model& of, isize layers, const grid_3d& on) {
    const grid_3d whole{on.data, 1, on.tensor};
    const auto count = static_cast<double>(layers), share = count / static_cast<double>(of.layers);
    forward += count * costs.whole_forward(of, on.tensor);
    backward += count * costs.whole_backward(of, on.tensor);
    waits_forward += count * costs.waits_forward(of, on.tensor);
    waits_back += count * costs.waits_back(of, on.tensor);
    exchanges_forward += layers * filled_costs::exchanges;
    exchanges_back += layers * costs.exchanges_back(of);
    bytes += share * costs.bytes(of, whole);
    kept += share * costs.kept(of, whole);
  }
};

// A part by itself, its layers evenly over so many stages for each of the grid's.
inline std::vector<pipeline_stage> even_stages(const filled_costs& costs, const layered_model& of,
                                               const grid_3d& on, isize chunks) {
  pipeline_stage each;
  each.add(costs, of, of.layers / (on.stages * chunks), on);
  return std::vector<pipeline_stage>(static_cast<std::size_t>(on.stages * chunks), each);
}

namespace detail {

// Exchanges of its layers lie inside an instruction, evenly apart, and are of unlike lengths.
inline void put_exchanges(std::vector<time_slot>& to, const time_slot& of, isize count, double all,
                          double sigma, const random_stream& draw, std::uint64_t& at) {
  if (count == 0 || all <= 0) return;
  std::vector<double> lengths(static_cast<std::size_t>(count));
  double sum = 0;
  for (double& one : lengths) sum += one = std::exp(sigma * draw.normal(at++));
  const double work = (of.length() - all) / static_cast<double>(count);
  double time = of.start;
  for (const double one : lengths) {
    time += work;
    const double length = one / sum * all;
    to.push_back({time, time + length});
    time += length;
  }
}

// So many stages on so many devices, in chunks where there are more.
inline score write_pipeline(isize devices, isize microbatches, isize stages) {
  const isize chunks = stages / devices;
  return write_schedule(chunks > 1 ? "interleaved" : "1f1b", {.stages = static_cast<int>(devices),
                                                              .microbatches = static_cast<int>(microbatches),
                                                              .chunks = static_cast<int>(chunks)});
}
inline cost_table costs_of_stages(const std::vector<pipeline_stage>& work) {
  cost_table costs;
  for (const pipeline_stage& each : work)
    costs.stages.push({each.forward, each.backward / 2, each.backward / 2});
  costs.wires.inside.latency = 20e-6;
  return costs;
}

}  // namespace detail

// Plays an interleaved pipeline of these stages, in chunks on so many devices, and microbatches. `sigma`: how
// unlike gaps of exchanges are, by the deviation of their logarithm; none: exchanges are counted, and no
// gaps.
inline pipeline_gaps find_gaps(const std::vector<pipeline_stage>& work, isize devices, isize microbatches,
                               double gather, double scatter, std::optional<double> sigma = {},
                               std::uint64_t seed = 1) {
  const program of = compile(detail::write_pipeline(devices, microbatches, static_cast<isize>(work.size())),
                             {messages::in_channels, false, false});
  const cost_table costs = detail::costs_of_stages(work);
  timeline times;
  if (!simulate(of, costs, times).ok()) fail(model_fits_nowhere, "the pipeline does not run");
  const list<double> latest = defer_forwards(of, costs, times);

  pipeline_gaps out;
  out.front = gather;
  out.behind = scatter;
  out.seconds = gather + times.makespan + scatter;
  out.needed.resize(static_cast<std::size_t>(microbatches), 0);
  out.given.resize(static_cast<std::size_t>(microbatches), 0);
  const random_stream draw(seed, "gaps");
  std::uint64_t at = 0;
  for (std::int32_t r = 0; r < of.ranks(); ++r) {
    std::vector<time_slot> found;
    double end = -1, first = 0, busy = 0, exchanging = 0, kept = 0, most = 0, bytes = 0;
    for (std::size_t s = static_cast<std::size_t>(r); s < work.size(); s += static_cast<std::size_t>(devices))
      bytes += work[s].bytes;
    for (std::int32_t i = of.starts[r]; i < of.starts[r + 1]; ++i) {
      const instruction& it = of.instructions[i];
      if (!is_compute(it.what)) continue;
      const time_slot own{gather + times.start[i], gather + times.finish[i]};
      if (end < 0) first = own.start;
      else if (own.start > end + 1e-9) found.push_back({end, own.start});
      const pipeline_stage& of_it = work[static_cast<std::size_t>(it.stage)];
      const bool forward = is_forward(it.what);
      const isize count = forward ? of_it.exchanges_forward : of_it.exchanges_back;
      const double waits = forward ? of_it.waits_forward : of_it.waits_back;
      if (sigma) detail::put_exchanges(found, own, count, waits, *sigma, draw, at);
      exchanging += waits;
      busy += own.length() - waits;
      kept += forward ? of_it.kept : -of_it.kept;
      most = std::max(most, kept);
      end = own.end;
      if (it.stage != 0) continue;
      const auto m = static_cast<std::size_t>(it.microbatch);
      if (forward) out.needed[m] = gather + latest[i];
      else out.given[m] = own.end;
    }
    out.first.push_back(first);
    out.last.push_back(end);
    out.inside.push_back(std::move(found));
    out.busy.push_back(busy);
    out.exchanging.push_back(exchanging);
    out.bytes.push_back(bytes + most);
  }
  return out;
}

// Shares of a step in which devices do no arithmetic, in their mean: until weights are there and behind the
// last gradients, until a device's first work and behind its last, between its works, and in exchanges of its
// tensor group.
struct idle_shares {
  double gather = 0, scatter = 0, warm_up = 0, cool_down = 0, dependency = 0, exchange = 0;
  double sum() const { return gather + scatter + warm_up + cool_down + dependency + exchange; }
};
inline idle_shares idle_of(const pipeline_gaps& of) {
  const double all = of.seconds * static_cast<double>(of.busy.size());
  idle_shares out{of.front / of.seconds, of.behind / of.seconds};
  for (std::size_t d = 0; d < of.busy.size(); ++d) {
    out.warm_up += (of.first[d] - of.front) / all;
    out.cool_down += (of.seconds - of.behind - of.last[d]) / all;
    out.exchange += of.exchanging[d] / all;
    out.dependency += (of.last[d] - of.first[d] - of.busy[d] - of.exchanging[d]) / all;
  }
  return out;
}

}  // namespace motet
