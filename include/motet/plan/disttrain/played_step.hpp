// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/cluster.hpp>
#include <motet/plan/order/program_order.hpp>
#include <motet/plan/order/program_samples.hpp>
#include <motet/schedule/simulate/simulate.hpp>
#include <motet/strategy/sample_parts.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace motet {

// What a place of a program takes: the longest sample of its module, and the ends of a step.
struct place_seconds {
  stage_cost sample;
  double sum = 0;  // of its gradients, over replicas
  double update = 0;
};

// Context parts share the samples of a module: those of fewer rows than `long_rows` are whole on the part
// that embeds them, the others are cut. What samples take is in shares of what a part takes of the longest
// one when that is cut: arithmetic by their work, exchanges by their rows.
struct shared_rows {
  isize long_rows = 0;
  std::int32_t parts = 1, tensor = 1;
  double longest = 0;  // rows
  double cut_computes = 1, cut_exchanges = 0, whole_computes = 1, whole_exchanges = 0;

  // Which of a tensor group embeds a sample of a microbatch, and which part.
  std::int32_t member_of(const interval& microbatch, isize sample) const {
    return static_cast<std::int32_t>(owner(microbatch.size(), tensor, sample - microbatch.begin));
  }
  std::int32_t home_of(const interval& microbatch, isize sample) const {
    const interval own = samples_of_rank(microbatch, tensor, member_of(microbatch, sample), 1, 0);
    return static_cast<std::int32_t>(owner(own.size(), parts, sample - own.begin));
  }
  // A part takes this of a sample.
  double load(double work, double rows, bool at_home) const {
    if (rows >= static_cast<double>(long_rows)) return work * cut_computes + rows / longest * cut_exchanges;
    return at_home ? work * whole_computes + rows / longest * whole_exchanges : 0;
  }
};

// Gradients of a place go to all replicas and back, in parts, by the slowest wire between them.
inline double sum_seconds(double parameters, isize replicas, bool crosses_nodes, const cluster_facts& on) {
  if (replicas < 2) return 0;
  wire by = crosses_nodes ? on.between : on.inside;
  if (crosses_nodes && on.of_device > 0) by.bytes_per_second = on.of_device;
  const auto all = static_cast<double>(replicas);
  return 2 * 4 * by.seconds(parameters) * (all - 1) / all + 2 * (all - 1) * by.latency;
}
// Weights and two moments are read and written, the gradient is read.
inline double update_seconds(double parameters, const cluster_facts& on) {
  return on.device.bytes_per_second > 0 ? 7 * 4 * parameters / on.device.bytes_per_second : 0;
}

namespace detail {

// What a context part has of a microbatch.
inline double load_of_part(const shared_rows& of, const sample_split& split, const voice& sings,
                           std::int32_t microbatch, const step_headers& step, const sample_order& order) {
  const interval all =
      split.of(microbatch / split.microbatches, sings.replica, microbatch % split.microbatches);
  double sum = 0;
  for (isize p = all.begin; p < all.end; ++p) {
    const std::int32_t sample = order[p];
    sum += of.load(step.work_of(sings.module, sample), step.rows[isize{sings.module} * step.samples + sample],
                   of.home_of(all, p) == sings.shard / of.tensor);
  }
  return sum;
}

}  // namespace detail

// A program takes so long for a step of these samples, on average of all steps whose headers are known: it is
// played with what each microbatch brings, not with their mean. It must pass check(). messages: of each
// instruction, what it sends of longest samples; none: as much as its place does of each, evenly shared.
// ordered: a run puts the samples of each step in an order before it, by what these places compute. shared:
// of modules with context parts, what these have of each sample; none: equally much.
inline double played_seconds(const program& of, const list<sample_split>& splits,
                             const list<place_seconds>& places, const cluster_facts& on,
                             const list<step_headers>& steps, list<double> messages = {},
                             const step_questions& ordered = step_questions{false, false},
                             const list<shared_rows>& shared = {}) {
  const program_samples samples(of, splits, false, ordered.together);
  cost_table costs;
  for (isize i = 0; i < messages.size(); ++i) {
    const instruction& it = of.instructions[i];
    if (!is_send(it.what)) continue;
    const voice& sings = of.voices[it.voice];
    const sample_split& split = splits[sings.module];
    const isize m = it.microbatch,
                own = split.of(m / split.microbatches, sings.replica, m % split.microbatches).size();
    messages[i] /= static_cast<double>(std::max<isize>(1, own));
  }
  costs.messages = std::move(messages);
  list<stage_cost> computes;
  for (const place_seconds& each : places) {
    computes.push({each.sample.forward, each.sample.backward_input, each.sample.backward_weight});
    costs.stages.push(each.sample);
    costs.reductions.push(each.sum);
    costs.updates.push(each.update);
  }
  costs.joins.resize(of.joins, 0.0);
  costs.wires = on.wires();
  isize cells = 0;
  for (const voice& sings : of.voices)
    for (std::int32_t s = 0; s < sings.stages; ++s)
      for (std::int32_t m = 0; m < sings.microbatches; ++m)
        cells = std::max<isize>(cells, sings.cell(s, m) + 1);
  const place_clock clock(samples, computes);
  const program_order orders(samples, clock);
  list<double> work;
  const auto seconds = [&](const step_headers& step, const sample_order& order) {
    samples.add_work(step, order, work);
    costs.scale.clear();
    costs.scale.resize(cells, 0.0);
    for (const voice& sings : of.voices) {
      const bool parts = sings.module < shared.size() && shared[sings.module].parts > 1;
      for (std::int32_t m = 0; m < sings.microbatches; ++m) {
        const double own =
            parts ? detail::load_of_part(shared[sings.module], splits[sings.module], sings, m, step, order)
                  : work[samples.cell_of(sings, m)];
        for (std::int32_t s = 0; s < sings.stages; ++s) costs.scale[sings.cell(s, m)] = own;
      }
    }
    timeline when;
    return simulate(of, costs, when).ok() ? when.makespan : std::numeric_limits<double>::infinity();
  };
  double sum = 0;
  for (const step_headers& each : steps) {
    double least = seconds(each, in_turn(each.samples));
    // Swaps are left to the run: they take long, and gain every plan a little.
    if (ordered.ranks || ordered.slots)
      least = std::min(least, seconds(each, orders.find(each, ordered, {.tries = 0}).order));
    sum += least;
  }
  return sum / static_cast<double>(std::max<isize>(1, steps.size()));
}

}  // namespace motet
