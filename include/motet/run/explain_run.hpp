// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/front/explain_plan.hpp>
#include <motet/plan/cost/require_gaps.hpp>
#include <motet/plan/cost/require_times.hpp>
#include <motet/plan/disttrain/profile_paces.hpp>
#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/files/profile_json.hpp>
#include <motet/run/conduct_words.hpp>
#include <motet/run/opened_run.hpp>
#include <motet/run/producers_needed.hpp>
#include <motet/run/run_memory.hpp>
#include <motet/run/work_of_data.hpp>
#include <motet/tools/process/long_work.hpp>
#include <motet/tools/process/this_machine.hpp>
#include <motet/tools/report/progress.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

// These tell what a run will need, and what a plan means for every rank, without training.
namespace motet {

// Prints how many producers the data of a run are worth, at steps of so many seconds.
inline void explain_producers(const run_settings& s, const sample_shape& shape, double step) {
  if (s.data.empty() || s.random_data()) return;
  std::printf("%s\n", words_on_producers(measure_preparing(s, shape), step, s.loader_threads).c_str());
}

// Prints how weights are moved.
inline void explain_learning(const run_settings& s) {
  std::printf("optimizer %s, weight decay %g, clip %g\n", s.optimizer.c_str(), s.weight_decay, s.clip);
  if (s.layer_rate != 1) std::printf("rates     %g of the rate above it from block to block\n", s.layer_rate);
  for (const named_pace& each : s.paces()) {
    std::printf("%-9s %g of the learning rate", each.module.c_str(), each.rate);
    if (each.decay) std::printf(", weight decay %g", *each.decay);
    if (each.layers) std::printf(", %g from block to block", *each.layers);
    if (const auto& own = each.schedule)
      std::printf(", a schedule of its own: %td steps of delay, %td of warm-up, %s", own->delay, own->warmup,
                  own->kind == rate_kind::constant ? "constant"
                  : own->kind == rate_kind::linear ? "linear"
                                                   : "cosine");
    std::printf("\n");
  }
  if (s.ema > 0) std::printf("averages  of the weights, decay %g\n", s.ema);
}

// Prints what the model is, and what a step takes.
inline void explain_run(session& model, const run_settings& s, const data_folder* folder) {
  const session_facts& facts = model.facts();
  const auto print_row = [](const char* name, double value) {
    std::printf("  %-12s %14.0f bytes  %s\n", name, value, bytes_text(value).c_str());
  };
  std::printf("machine   %s\n", model.machine().c_str());
  std::printf("model     %s, loss %s, precision %s\n", facts.name.c_str(), facts.loss.c_str(),
              facts.precision.c_str());
  for (const auto& [name, text] : facts.outline) std::printf("%-9s %s\n", name.c_str(), text.c_str());
  if (folder != nullptr) std::printf("data      %s\n", folder->describe().c_str());
  isize decayed = 0;
  for (const parameter& each : model.parameters()) decayed += each.decay ? each.size() : 0;
  std::printf("parameters %td in %zu tensors, %td of them with weight decay\n", facts.parameters,
              model.parameters().size(), decayed);
  std::printf(
      "step      %td samples in %td %s, %td steps, learning rate up to %g after %td steps of warm-up, %s\n",
      s.batch, s.accumulate, s.accumulate == 1 ? "part" : "parts", s.steps, s.rate, s.warmup_steps(),
      s.schedule.c_str());
  explain_learning(s);

  const run_memory memory = memory_of_run(model, s, folder);
  const rank_memory& own = memory.training;
  std::printf("memory above the idle process\n");
  print_row("weights", static_cast<double>(own.stages.weights));
  print_row("gradients", static_cast<double>(own.stages.gradients));
  print_row("optimizer", static_cast<double>(own.stages.optimizer));
  if (own.stages.averages > 0) print_row("averages", static_cast<double>(own.stages.averages));
  print_row("kept", static_cast<double>(own.stages.slots + own.stages.boundaries));
  print_row("features", static_cast<double>(own.features));
  print_row("work", static_cast<double>(own.work + own.packing));
  print_row("scratch", static_cast<double>(own.scratch));
  if (own.inputs > 0) print_row("inputs", static_cast<double>(own.inputs));
  print_row("data", static_cast<double>(memory.data));
  print_row("total", static_cast<double>(memory.total()));
  const step_costs costs = model.foretold_costs();
  double run = 0;
  for (const rank_traffic& each : traffic_of(model.of(), model.work())) run += each.flops;
  if (folder != nullptr) explain_producers(s, facts.shape, run / std::max(1.0, model.measure_peak()));
  std::printf("FLOPs of a step %.3f G (captions of full length; %.3f G as run)\n", costs.flops() / 1e9,
              run / 1e9);
  std::printf("sections of a step\n");
  const double all = std::max(costs.flops(), 1.0);
  for (const section_cost& each : costs) {
    if (each.flops <= 0 && each.bytes <= 0) continue;
    std::printf("  %-30s %10.3f GFLOP %5.1f%%  %8.1f MB moved at least\n", costs.path(each).c_str(),
                each.flops / 1e9, 100 * each.flops / all, each.bytes / 1e6);
  }
}

// Prints which scores take turns, and why others do not.
inline void print_scores(const score_names& of, const run_settings& s) {
  for (const std::string& each : words_on(of, s.conduct_margin)) std::printf("conduct   %s\n", each.c_str());
}

// The plan itself.
inline void print_head(const chosen_plan& chosen, const run_settings& s) {
  const plan& of = chosen.value;
  std::printf("plan      %s%s%s\n", chosen.name.c_str(), chosen.about.empty() ? "" : ": ",
              chosen.about.c_str());
  std::printf("model     %s, a batch of %td\n", s.model.c_str(), s.batch);
  std::printf("ranks     %d%s\n", of.cluster.ranks,
              of.cluster.ranks_per_node > 0
                  ? (", " + std::to_string(of.cluster.ranks_per_node) + " on a node").c_str()
                  : "");
  if (s.reorders()) std::printf("order     %s: %s\n", s.reorder.c_str(), s.reorder_words().c_str());
  if (s.reorder_groups > 0)
    std::printf("groups    %d of ranks, out of which no sample goes\n",
                sample_groups(of, s.trained().facts(), s.batch, s.reorder_groups));
  print_plan(stdout, of, s.batch);
}

// The plan, who holds what, and what a step takes. `model` was not started.
inline void explain_chosen(const chosen_plan& chosen, const run_settings& s, session& model,
                           long_work& waits) {
  const program& of = model.of();
  waits.at(sentence({"counting the memory of ", of.ranks(), " ranks"}));
  const std::vector<rank_memory> memory = model.memory();
  const auto facts = s.trained().facts();
  const bool gpus = s.device == "cuda";
  waits.at("counting the work of a step");
  const counted_work counted = work_of_data(model, s);
  waits.at(sentence({"simulating a step of ", of.ranks(), " ranks"}));
  const int processors = gpus ? 1 : processors_here();
  // As many threads compute at once as will in a step.
  const operation_rates found =
      model.measure_rates(std::min<int>(processors, model.threads() * std::max(1, of.ranks())));
  plan_meaning meaning{
      chosen.value,   facts,      of,
      memory,         counted.of, {found.products, copy_rate(), found.attention, found.elements},
      model.threads()};
  if (gpus) meaning.by = computed_by::gpus;
  if (leaves_pieces(chosen.value)) meaning.longest = model.work();
  machine_profile by;
  if (!s.profile.empty()) {
    by = load_profile(s.profile);
    require_gaps_of(by, s.profile, facts);
    require_times_of(by, s.profile, facts, s.stream_bytes());
    meaning.measured.times = by.times;
    if (!by.modules.empty()) meaning.measured.blocks = paces_of(by, s.profile, facts, s.stream_bytes());
    meaning.pairs = by.pairs;
    if (by.activation_bytes == s.stream_bytes()) meaning.gaps = by.gaps;
  }
  waits.finish();
  print_head(chosen, s);
  if (const score_names* const scores = model.scores()) print_scores(*scores, s);
  explain_learning(s);
  const double step = print_meaning(stdout, meaning, processors);
  std::printf("counted   %s\n", counted.words.c_str());
  explain_producers(s, model.facts().shape, step);
  std::printf("\n%s", format_plan(chosen.value).c_str());
}

// Finds which way the operations of a step take on this machine's GPU, by three steps whose weights are
// thrown away: work is recorded in the second one, and the third one is replayed. Without a GPU, or without
// the memory, it says so.
inline void probe_paths(opened_run& run) {
  constexpr int steps = 3;
  try {
    run.prepare();
    const auto source = run.open_feed();
    for (int k = 0; k < steps; ++k) run.model->step(source->next(), 0);
    run.model->finish();
  } catch (const error& problem) {
    if (std::string_view(problem.code()) != no_gpu.code &&
        std::string_view(problem.code()) != gpu_memory_full.code)
      throw;
    std::printf("paths     are told where a step can run: %s\n", problem.what());
    return;
  }
  std::printf("paths of %d steps; a replay of a graph takes those of its record\n", steps);
  for (const std::string& each : run.model->paths()) std::printf("  %s\n", each.c_str());
}

}  // namespace motet
