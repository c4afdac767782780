// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "choose_plan.hpp"
#include "explain_learning.hpp"
#include "traffic.hpp"

#include <motet/schedule/simulate/analyse.hpp>
#include <motet/tools/long_work.hpp>
#include <motet/tools/this_machine.hpp>

#include <map>

// What a plan means for every rank, found without training.
namespace motet::train_clip {

// "2-3", "0, 4-6".
inline std::string row_of(const std::vector<index>& numbers) {
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

// Of each rank, "picture stage 1 (layers 2-3) replica 0 tensor 1 of 2".
inline std::vector<std::string> held_by_ranks(const program& of, const plan& from,
                                              const list<motet::module_facts>& facts) {
  std::vector<std::string> all(static_cast<std::size_t>(of.ranks()));
  for (const voice& each : of.voices) {
    const module_plan& own = from.modules[each.module];
    const std::vector<index> layers = split_layers(own.name.view(), facts[each.module].layers, each.stages,
                                                   std::vector<index>(own.layers.begin(), own.layers.end()));
    const degrees& split = own.on.split();
    index first = 0;
    for (std::int32_t s = 0; s < each.stages; first += layers[static_cast<std::size_t>(s++)]) {
      std::string& out = all[static_cast<std::size_t>(of.place(each, s))];
      out += (out.empty() ? "" : "; ") + std::string(own.name.view());
      std::vector<index> numbers;
      for (index k = first; k < first + layers[static_cast<std::size_t>(s)]; ++k) numbers.push_back(k);
      if (each.stages > 1) out += " stage " + std::to_string(s);
      out += " layers " + row_of(numbers);
      const auto part = [&](const char* what, std::int32_t which, std::int32_t ways) {
        if (ways > 1)
          out += std::string(", ") + what + " " + std::to_string(which) + " of " + std::to_string(ways);
      };
      part("replica", each.replica, split.data);
      part("context", each.shard / split.tensor, split.context);
      part("tensor", each.shard % split.tensor, split.tensor);
    }
  }
  for (std::string& each : all)
    if (each.empty()) each = "nothing: an idle rank";
  return all;
}

inline void print_head(const chosen_plan& chosen, const settings& s) {
  const plan& of = chosen.value;
  std::printf("plan      %s%s%s\n", chosen.name.c_str(), chosen.about.empty() ? "" : ": ",
              chosen.about.c_str());
  std::printf("model     %s, a batch of %td\n", s.model.c_str(), s.batch);
  std::printf("ranks     %d%s\n", of.cluster.ranks,
              of.cluster.ranks_per_node > 0
                  ? (", " + std::to_string(of.cluster.ranks_per_node) + " on a node").c_str()
                  : "");
  for (const module_plan& each : of.modules) {
    const degrees& split = each.on.split();
    const std::vector<index> ranks(each.on.ranks().begin(), each.on.ranks().end());
    std::printf("%-9s stages %d x data %d x context %d x tensor %d on ranks %s; %d %s, %d for each loss",
                std::string(each.name.view()).c_str(), each.stages(), split.data, split.context, split.tensor,
                row_of(ranks).c_str(), each.microbatches,
                each.microbatches == 1 ? "microbatch" : "microbatches", each.whole_group());
    if (each.stash >= 0) std::printf(", %d of them kept", each.stash);
    if (each.zero > 0) std::printf(each.zero > 1 ? ", optimizer and gradients shared" : ", optimizer shared");
    if (!each.remade.empty()) std::printf(", remade");
    if (each.fills) std::printf(", in the gaps of the others");
    std::printf("\n");
  }
  const int losses = of.modules[0].groups();
  std::printf("schedule  %s, %d %s in a step, of %td pairs each\n", std::string(of.schedule.view()).c_str(),
              losses, losses == 1 ? "loss" : "losses", s.batch / losses);
}

// The plan, who holds what, and what a step takes. `model` was not started.
inline void explain_plan(const chosen_plan& chosen, const settings& s, session& model, long_work& waits) {
  const program& of = model.of();
  waits.at(sentence({"counting the memory of ", of.ranks(), " ranks"}));
  const std::vector<rank_memory> memory = model.memory();
  waits.at(sentence({"simulating a step of ", of.ranks(), " ranks"}));
  const program_work work = model.work();
  const std::vector<rank_traffic> traffic = traffic_of(of, work);
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const machine_rates rates{model.measure_peak() / model.threads(), copy_rate()};
  const cost_table costs = work.costs(of, rates);
  timeline when;
  simulate(of, costs, when);
  const analysis times = analyse(of, costs, when);

  waits.finish();
  print_head(chosen, s);
  explain_learning(s);
  std::printf("\nholds\n");
  const std::vector<std::string> held =
      held_by_ranks(of, chosen.value, this_program.facts(find_model(s.model)));
  for (std::size_t r = 0; r < held.size(); ++r) std::printf("  rank %-3zu %s\n", r, held[r].c_str());

  std::printf(
      "\nmemory, MB\n  rank       weights gradients optimizer     slots boundaries  features      work     "
      "total\n");
  const auto mb = [](index bytes) { return static_cast<double>(bytes) / 1e6; };
  for (std::size_t r = 0; r < memory.size(); ++r) {
    const rank_memory& own = memory[r];
    std::printf("  rank %-3zu %9.3f %9.3f %9.3f %9.3f %10.3f %9.3f %9.3f %9.3f\n", r, mb(own.stages.weights),
                mb(own.stages.gradients), mb(own.stages.optimizer + own.stages.averages),
                mb(own.stages.slots), mb(own.stages.boundaries), mb(own.features),
                mb(own.packing + own.work + own.scratch), mb(own.total()));
  }

  std::printf("\na step\n  rank         GFLOP  messages   sent MB  group MB  sums MB  busy ms  idle ms\n");
  double flops = 0, sent = 0, busy = 0;
  index messages = 0;
  for (std::size_t r = 0; r < traffic.size(); ++r) {
    const rank_traffic& own = traffic[r];
    const rank_time& spends = times.ranks[static_cast<index>(r)];
    std::printf("  rank %-3zu %9.3f %9td %9.3f %9.3f %8.3f %8.2f %8.2f\n", r, own.flops / 1e9, own.messages,
                own.message_bytes / 1e6, own.group_bytes / 1e6, own.reduction_bytes / 1e6, spends.busy * 1e3,
                spends.idle() * 1e3);
    flops += own.flops;
    sent += own.message_bytes + own.group_bytes + own.reduction_bytes;
    busy += spends.busy;
    messages += own.messages;
  }
  std::printf("all       %.3f GFLOP, %td messages, %.3f MB between ranks, %td instructions\n", flops / 1e9,
              messages, sent / 1e6, of.instructions.size());
  std::printf("measured  %.1f GFLOP/s and %.1f GB/s on one of %d threads\n", rates.flops / 1e9,
              rates.bytes / 1e9, processors);
  std::printf(
      "predicted %.2f ms a step with a processor for each rank, %.1f %% of it bubbles; %.2f ms at least on "
      "%d\n",
      when.makespan * 1e3, 100 * times.bubble_rate,
      std::max(when.makespan, busy / std::max(1, processors)) * 1e3, processors);
  std::printf("\n%s", format_plan(chosen.value).c_str());
}

}  // namespace motet::train_clip
