// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/optimus/filled_model.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/place/deferral.hpp>
#include <motet/schedule/write/schedules.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <cmath>
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
  double exchange_seconds = 0;        // of them inside, on each device, in exchanges of its tensor group
  double busy_seconds = 0;            // arithmetic of each device
  double front = 0, behind = 0;       // gathering and summing
};

// The whole of each device's chunks takes these seconds, the same for all layers. `chunk_layers`: of each
// virtual stage.
struct pipeline_work {
  std::vector<double> forward, backward;  // of each virtual stage, with exchanges
  std::vector<index> exchanges_forward, exchanges_back;
  double exchange = 0;
};

namespace detail {

// Exchanges of its layers lie inside an instruction, evenly apart, of unlike lengths with their mean.
inline void put_exchanges(std::vector<time_slot>& to, const time_slot& of, index count, double each,
                          double sigma, const random_stream& draw, std::uint64_t& at) {
  if (count == 0 || each <= 0) return;
  std::vector<double> lengths(static_cast<std::size_t>(count));
  double sum = 0;
  for (double& one : lengths) sum += one = std::exp(sigma * draw.normal(at++));
  const double all = each * static_cast<double>(count),
               work = (of.length() - all) / static_cast<double>(count);
  double time = of.start;
  for (const double one : lengths) {
    time += work;
    const double length = one / sum * all;
    to.push_back({time, time + length});
    time += length;
  }
}

}  // namespace detail

// Plays an interleaved pipeline of these stages and microbatches.
inline pipeline_gaps find_gaps(const pipeline_work& work, index stages, index microbatches, double gather,
                               double scatter, double sigma, std::uint64_t seed = 1) {
  const auto virtual_stages = static_cast<index>(work.forward.size());
  const index chunks = virtual_stages / stages;
  const program of = compile(
      write_schedule(chunks > 1 ? "interleaved" : "1f1b", {.stages = static_cast<int>(stages),
                                                           .microbatches = static_cast<int>(microbatches),
                                                           .chunks = static_cast<int>(chunks)}),
      {messages::in_channels, false, false});
  cost_table costs;
  for (index s = 0; s < virtual_stages; ++s) {
    const auto k = static_cast<std::size_t>(s);
    costs.stages.push({work.forward[k], work.backward[k] / 2, work.backward[k] / 2});
  }
  costs.wires.inside.latency = 20e-6;
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
    double end = -1, first = 0, busy = 0, waits = 0;
    for (std::int32_t i = of.starts[r]; i < of.starts[r + 1]; ++i) {
      const instruction& it = of.instructions[i];
      if (!is_compute(it.what)) continue;
      const time_slot own{gather + times.start[i], gather + times.finish[i]};
      if (end < 0) first = own.start;
      else if (own.start > end + 1e-9) found.push_back({end, own.start});
      const auto s = static_cast<std::size_t>(it.stage);
      const index count = is_forward(it.what) ? work.exchanges_forward[s] : work.exchanges_back[s];
      detail::put_exchanges(found, own, count, work.exchange, sigma, draw, at);
      waits += static_cast<double>(count) * work.exchange;
      busy += own.length() - static_cast<double>(count) * work.exchange;
      end = own.end;
      if (it.stage != 0) continue;
      const auto m = static_cast<std::size_t>(it.microbatch);
      if (is_forward(it.what)) out.needed[m] = gather + latest[i];
      else out.given[m] = own.end;
    }
    out.first.push_back(first);
    out.last.push_back(end);
    out.inside.push_back(std::move(found));
    out.busy_seconds = std::max(out.busy_seconds, busy);
    out.exchange_seconds = std::max(out.exchange_seconds, waits);
  }
  return out;
}

}  // namespace motet
