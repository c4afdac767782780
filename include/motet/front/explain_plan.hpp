// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/dealt_by_shares.hpp>
#include <motet/plan/cost/lane_speeds.hpp>
#include <motet/plan/describe/model_facts.hpp>
#include <motet/plan/describe/plan.hpp>
#include <motet/plan/prove/check_lanes.hpp>
#include <motet/runtime/stage/layer_split.hpp>
#include <motet/runtime/train/choose_pieces.hpp>
#include <motet/runtime/train/foretell.hpp>
#include <motet/runtime/train/measured_work.hpp>
#include <motet/runtime/train/placed_model.hpp>
#include <motet/schedule/simulate/analyse.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

// These tell what a plan means for every rank, without training.
namespace motet {

// Traffic is what a rank computes and exchanges in a step.
struct rank_traffic {
  double flops = 0;
  isize messages = 0;
  double message_bytes = 0;    // sent to other stages
  double group_bytes = 0;      // about, from ranks that hold the same stage
  double reduction_bytes = 0;  // gradients, to the ranks that sum them
};
inline std::vector<rank_traffic> traffic_of(const program& of, const program_work& work) {
  std::vector<rank_traffic> all(static_cast<std::size_t>(of.ranks()));
  for (std::int32_t r = 0; r < of.ranks(); ++r) {
    rank_traffic& own = all[static_cast<std::size_t>(r)];
    for (std::int32_t i = of.starts[r]; i < of.starts[r + 1]; ++i) {
      const instruction& it = of.instructions[i];
      if (it.what == op::join) {
        own.flops += work.join_flops;
        continue;
      }
      const auto place = static_cast<std::size_t>(of.voices[it.voice].first_place + it.stage);
      const stage_work& does = work.places[place];
      if (is_forward(it.what)) own.flops += does.forward, own.group_bytes += does.forward_group_bytes;
      if (it.what == op::backward || it.what == op::backward_input)
        own.flops += does.backward_input, own.group_bytes += does.backward_group_bytes;
      if (it.what == op::backward || it.what == op::backward_weight) own.flops += does.backward_weight;
      if (is_send(it.what)) ++own.messages, own.message_bytes += work.messages[i];
      if (it.what == op::reduce_gradient)
        own.reduction_bytes += 4.0 * static_cast<double>(work.parameters[place]);
    }
  }
  return all;
}

namespace detail {

// "2-3", "0, 4-6".
inline std::string row_of(const std::vector<isize>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    out += (out.empty() ? "" : ", ") + std::to_string(numbers[i]) +
           (last > i ? "-" + std::to_string(numbers[last]) : "");
    i = last + 1;
  }
  return out;
}

}  // namespace detail

// Each rank has a text such as "picture stage 1 (layers 2-3) replica 0 tensor 1 of 2".
inline std::vector<std::string> held_by_ranks(const program& of, const plan& from,
                                              const list<motet::module_facts>& facts) {
  std::vector<std::string> all(static_cast<std::size_t>(of.ranks()));
  for (const voice& each : of.voices) {
    const module_plan& own = from.modules[each.module];
    const std::vector<isize> layers = split_layers(own.name.view(), facts[each.module].layers, each.stages,
                                                   std::vector<isize>(own.layers.begin(), own.layers.end()));
    const degrees& split = own.on.split();
    isize first = 0;
    for (std::int32_t s = 0; s < each.stages; first += layers[static_cast<std::size_t>(s++)]) {
      std::string& out = all[static_cast<std::size_t>(of.place(each, s))];
      out += (out.empty() ? "" : "; ") + std::string(own.name.view());
      std::vector<isize> numbers;
      for (isize k = first; k < first + layers[static_cast<std::size_t>(s)]; ++k) numbers.push_back(k);
      if (each.stages > 1) out += " stage " + std::to_string(s);
      out += " layers " + detail::row_of(numbers);
      const auto part = [&](const char* what, std::int32_t which, std::int32_t ways) {
        if (ways > 1)
          out += std::string(", ") + what + " " + std::to_string(which) + " of " + std::to_string(ways);
      };
      part("replica", each.replica, split.data);
      if (own.experts > 1)
        part("experts", each.replica % own.experts * split.tensor + each.shard % split.tensor,
             own.experts * split.tensor);
      part("context", each.shard / split.tensor, split.context);
      part("tensor", each.shard % split.tensor, split.tensor);
    }
  }
  for (std::string& each : all)
    if (each.empty()) each = "nothing: an idle rank";
  return all;
}

// Prints how a plan spreads the modules, a line for each, and their losses.
inline void print_plan(std::FILE* out, const plan& of, isize batch) {
  for (const module_plan& each : of.modules) {
    const degrees& split = each.on.split();
    const std::vector<isize> ranks(each.on.ranks().begin(), each.on.ranks().end());
    std::fprintf(out,
                 "%-9s stages %d x data %d x context %d x tensor %d on ranks %s; %d %s, %d for each loss",
                 std::string(each.name.view()).c_str(), each.stages(), split.data, split.context,
                 split.tensor, detail::row_of(ranks).c_str(), each.microbatches,
                 each.microbatches == 1 ? "microbatch" : "microbatches", each.whole_group());
    if (each.stash >= 0) std::fprintf(out, ", %d of them kept", each.stash);
    if (each.zero > 0)
      std::fprintf(out, each.zero > 2   ? ", optimizer, gradients and weights shared"
                        : each.zero > 1 ? ", optimizer and gradients shared"
                                        : ", optimizer shared");
    if (each.experts > 1) std::fprintf(out, ", experts over %d replicas", each.experts);
    if (!each.remade.empty()) std::fprintf(out, ", remade");
    if (each.offload_beyond > 0) std::fprintf(out, ", offloaded beyond %d", each.offload_beyond);
    if (each.fills) std::fprintf(out, ", in the gaps of the others");
    if (each.multiplexed) std::fprintf(out, ", between the others, %d ahead", each.ahead);
    if (each.lane > 0)
      std::fprintf(out, ", in lane %d with %.0f %% of a rank", each.lane,
                   100 * shares_of_lanes(of)[each.lane]);
    if (each.pieces > 1) std::fprintf(out, ", rows of its tensor groups in %d pieces", each.pieces);
    if (each.pieces == 0) std::fprintf(out, ", rows of its tensor groups in as many pieces as pay");
    if (each.long_rows > 0) std::fprintf(out, ", samples of fewer than %d rows whole", each.long_rows);
    if (each.long_rows == long_rows_chosen)
      std::fprintf(out, ", samples whole or cut by a number of rows that each step finds");
    std::fprintf(out, "\n");
  }
  const int losses = of.modules[0].groups();
  std::fprintf(out, "schedule  %s, %d %s in a step, of %td pairs each\n",
               std::string(of.schedule.view()).c_str(), losses, losses == 1 ? "loss" : "losses",
               batch / losses);
}

// What computes, threads of processors or GPUs.
enum class computed_by : std::uint8_t { processors, gpus };

// Processors as lanes have them: each lane has threads of its own. A rank of fewer threads than lanes has one
// for each, and the operating system gives all that are busy, of any rank here, the processors of this
// machine evenly.
inline void share_threads(cost_table& costs, const plan& of, int threads, int processors) {
  const list<double> shares = shares_of_lanes(of);
  if (shares.size() < 2) return;
  costs.shares.resize(0);
  costs.by_itself.resize(0);
  costs.processors = 0;
  if (threads < shares.size()) {
    // Other nodes are as this one.
    const std::int32_t each = of.cluster.ranks_per_node;
    costs.processors = processors * (each > 0 ? (of.cluster.ranks + each - 1) / each : 1);
    return;
  }
  for (const int own : dealt_by_shares({shares.begin(), shares.end()}, threads)) {
    costs.shares.push(own);
    costs.by_itself.push(static_cast<double>(own) / threads);
  }
}

// GPUs as lanes have them: each lane is a stream, which has the whole rank where no other is busy, unless the
// plan says a share.
inline void share_multiprocessors(cost_table& costs, const plan& of) {
  const list<double> shares = shares_of_lanes(of);
  if (shares.size() < 2) return;
  costs.shares = shares;
  costs.by_itself.resize(0);
  if (says_shares(of)) costs.by_itself = shares;
}
inline void share_lanes(cost_table& costs, const plan& of, computed_by by, int threads, int processors) {
  if (by == computed_by::gpus) share_multiprocessors(costs, of);
  else share_threads(costs, of, threads, processors);
}

// The meaning of a plan is what a trainer says of it before anything is started: order(), memory() and
// work(); what a thread of this machine does in a second, how many each rank has, and what modules were
// measured to take by themselves and from each other, and to wait inside operations.
struct plan_meaning {
  const plan& from;
  const list<module_facts>& facts;
  const program& of;
  std::vector<rank_memory> memory;
  program_work work;
  machine_rates rates;
  int threads = 1;
  list<module_pair> pairs{};
  computed_by by = computed_by::processors;
  list<measured_gaps> gaps{};
  program_work longest{};  // of samples as long as any can be, by which pieces are chosen; none: `work`
  measured_modules measured{};

  // All threads of a rank compute, and one of them exchanges.
  machine_rates rates_of_rank() const {
    machine_rates out = rates;
    for (const auto each : {&machine_rates::flops, &machine_rates::attention, &machine_rates::elements})
      out.*each *= processors_of_rank();
    return out;
  }
  bool has_times() const { return !measured.times.empty() || !measured.blocks.empty(); }
  int processors_of_rank() const { return by == computed_by::gpus ? 1 : std::max(1, threads); }
  const choice_rates& pieces_by() const {
    return by == computed_by::gpus ? choice_of_gpus : choice_of_processors;
  }
};

// Prints how many pieces of rows pay for modules of which the plan leaves that open, and why.
inline void print_chosen_pieces(std::FILE* out, const plan_meaning& what) {
  for (isize k = 0; k < what.from.modules.size(); ++k) {
    const module_plan& own = what.from.modules[k];
    if (own.pieces != 0 || own.on.split().tensor == 1) continue;
    const chosen_pieces found = choose_pieces(what.of, what.longest.places.empty() ? what.work : what.longest,
                                              k, what.facts[k].whole_blocks(), what.pieces_by());
    const piece_times& of = found.times;
    std::fprintf(
        out,
        "\npieces    %d for %s: a microbatch exchanges for %.3f ms beside %.3f ms of products, "
        "and takes %.3f ms instead of %.3f in one piece (at %.0f GFLOP/s and %.0f GB/s, by which all "
        "ranks choose)\n",
        found.pieces, std::string(own.name.view()).c_str(), of.exchange * 1e3, of.product * 1e3,
        of.seconds(found.pieces) * 1e3, of.seconds(1) * 1e3, what.pieces_by().each.flops / 1e9,
        what.pieces_by().each.bytes / 1e9);
  }
}

// Prints of modules with groups how long operations wait for others of these, and who says so.
inline void print_gaps(std::FILE* out, const plan_meaning& what, const cost_table& costs) {
  for (isize k = 0; k < what.from.modules.size(); ++k) {
    const module_plan& own = what.from.modules[k];
    const gap_degrees under = gap_degrees_of(own);
    if (!under.waits()) continue;
    double forward = 0, backward = 0;
    for (const voice& sings : what.of.voices)
      for (std::int32_t s = 0; sings.module == k && s < sings.stages; ++s) {
        const stage_cost& at = costs.stages[sings.first_place + s];
        forward = std::max(forward, at.gaps(op::forward));
        backward = std::max(backward, at.gaps(op::backward));
      }
    std::fprintf(out, "gaps      %s waits for others of its groups: forward %.0f %%, backward %.0f %%, %s\n",
                 std::string(own.name.view()).c_str(), 100 * forward, 100 * backward,
                 gaps_are(find_gaps(what.gaps, own.name, under) != nullptr).data());
  }
}

// Prints how the lanes of a rank have its device, where that is not as the plan says by itself.
inline void print_lanes(std::FILE* out, const plan_meaning& what) {
  const list<double> shares = shares_of_lanes(what.from);
  const isize lanes = shares.size();
  if (lanes < 2) return;
  if (what.by == computed_by::processors) {
    if (what.threads < lanes)
      std::fprintf(
          out,
          "lanes     ranks of %d %s have %td lanes: the operating system shares processors evenly among "
          "those that are busy, whatever their shares\n",
          what.threads, what.threads == 1 ? "thread" : "threads", lanes);
    return;
  }
  if (!says_shares(what.from)) {
    std::string yielding;
    const list<bool> yields = yields_of_lanes(what.from);
    for (isize k = 0; k < lanes; ++k)
      if (yields[k]) yielding += (yielding.empty() ? "; of lane " : ", ") + std::to_string(k);
    if (!yielding.empty()) yielding += " only what the others leave";
    std::fprintf(out,
                 "lanes     are streams: the GPU gives a rank's multiprocessors to whoever comes, as no "
                 "module has a share%s\n",
                 yielding.c_str());
    return;
  }
  std::string parts;
  for (isize k = 0; k < lanes; ++k)
    parts += (k == 0 ? "" : k + 1 == lanes ? " and " : ", ") + std::to_string(std::lround(100 * shares[k]));
  std::fprintf(out,
               "lanes     have %s %% of a rank's multiprocessors each to itself (green contexts), in whole "
               "steps of the chip, also where another lane waits\n",
               parts.c_str());
}

// Prints who holds what, and what a step takes on so many processors, or GPUs; returns the seconds of it.
inline double print_meaning(std::FILE* out, const plan_meaning& what, int processors) {
  const program& of = what.of;
  const std::vector<rank_memory>& memory = what.memory;
  const machine_rates& rates = what.rates;
  const std::vector<rank_traffic> traffic = traffic_of(of, what.work);
  cost_table costs = what.work.costs(of, what.rates_of_rank());
  const bool gpus = what.by == computed_by::gpus;
  if (!gpus)
    put_measured_times(costs, of, what.from, what.work, what.rates_of_rank(), what.measured,
                       what.processors_of_rank());
  put_measured_gaps(costs, of, what.from, what.gaps);
  share_lanes(costs, what.from, what.by, what.threads, processors);
  costs.beside_others = kept_beside_others(what.from, what.pairs);
  timeline when;
  simulate(of, costs, when);
  const analysis times = analyse(of, costs, when);
  std::fprintf(out, "\nholds\n");
  const std::vector<std::string> held = held_by_ranks(of, what.from, what.facts);
  for (std::size_t r = 0; r < held.size(); ++r) std::fprintf(out, "  rank %-3zu %s\n", r, held[r].c_str());

  std::fprintf(
      out,
      "\nmemory, MB\n  rank       weights gradients optimizer     slots boundaries  features      work     "
      "total\n");
  const auto mb = [](isize bytes) { return static_cast<double>(bytes) / 1e6; };
  for (std::size_t r = 0; r < memory.size(); ++r) {
    const rank_memory& own = memory[r];
    std::fprintf(out, "  rank %-3zu %9.3f %9.3f %9.3f %9.3f %10.3f %9.3f %9.3f %9.3f\n", r,
                 mb(own.stages.weights), mb(own.stages.gradients),
                 mb(own.stages.optimizer + own.stages.averages), mb(own.stages.slots),
                 mb(own.stages.boundaries), mb(own.features),
                 mb(own.packing + own.work + own.scratch + own.beside), mb(own.total()));
  }

  bool offloads = false;
  for (std::size_t r = 0; r < memory.size(); ++r)
    if (memory[r].stages.offloaded > 0)
      std::fprintf(out, "%s rank %zu %.3f MB", std::exchange(offloads, true) ? "," : "offloaded", r,
                   mb(memory[r].stages.offloaded));
  if (offloads) std::fprintf(out, "\n");
  print_chosen_pieces(out, what);
  std::fprintf(out,
               "\na step\n  rank         GFLOP  messages   sent MB  group MB  sums MB  busy ms  idle ms\n");
  double flops = 0, sent = 0, busy = 0;
  isize messages = 0;
  for (std::size_t r = 0; r < traffic.size(); ++r) {
    const rank_traffic& own = traffic[r];
    const rank_time& spends = times.ranks[static_cast<isize>(r)];
    std::fprintf(out, "  rank %-3zu %9.3f %9td %9.3f %9.3f %8.3f %8.2f %8.2f\n", r, own.flops / 1e9,
                 own.messages, own.message_bytes / 1e6, own.group_bytes / 1e6, own.reduction_bytes / 1e6,
                 spends.busy * 1e3, spends.idle() * 1e3);
    flops += own.flops;
    sent += own.message_bytes + own.group_bytes + own.reduction_bytes;
    busy += spends.busy;
    messages += own.messages;
  }
  std::fprintf(out, "all       %.3f GFLOP, %td messages, %.3f MB between ranks, %td instructions\n",
               flops / 1e9, messages, sent / 1e6, of.instructions.size());
  if (gpus)
    std::fprintf(out, "measured  %.1f GFLOP/s on a GPU, and %.1f GB/s copied by the host\n",
                 rates.flops / 1e9, rates.bytes / 1e9);
  else
    std::fprintf(out, "measured  %.1f GFLOP/s and %.1f GB/s on one of %d threads\n", rates.flops / 1e9,
                 rates.bytes / 1e9, processors);
  if (rates.attention > 0 && rates.elements > 0)
    std::fprintf(out, "and       %.1f GFLOP/s of attention, %.1f GB/s by operations on single elements\n",
                 rates.attention / 1e9, rates.elements / 1e9);
  if (what.has_times())
    std::fprintf(
        out, "%s",
        words_on_times(what.from, gpus ? measured_modules{} : what.measured, what.processors_of_rank())
            .c_str());
  print_gaps(out, what, costs);
  print_lanes(out, what);
  const int each = what.processors_of_rank();
  const double least = std::max(when.makespan, each * busy / std::max(1, processors));
  const std::string computes = gpus        ? "a GPU"
                               : each == 1 ? "a processor"
                                           : std::to_string(each) + " processors";
  std::fprintf(out,
               "predicted %.2f ms a step with %s for each rank, %.1f %% of it bubbles; %.2f ms at least on "
               "%d\n",
               when.makespan * 1e3, computes.c_str(), 100 * times.bubble_rate, least * 1e3, processors);
  return least;
}

}  // namespace motet
