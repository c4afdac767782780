// SPDX-License-Identifier: Apache-2.0
// Times a search for a plan on one core, from 8 to 4096 devices, one for DistTrain's chains on 1,296, the
// planning of a cell of a job, quotas of up to twelve towers on a node, and the order of a step's samples.
//
//   bench_search [--finalists 24] [flags of Google Benchmark]        plans that are simulated, about
#include "suite.hpp"

#include <motet/plan/cells/search_cells.hpp>
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/describe/model_presets.hpp>
#include <motet/plan/disttrain/search_chain.hpp>
#include <motet/plan/order/step_order.hpp>
#include <motet/plan/quotas/quotas_of_towers.hpp>
#include <motet/plan/quotas/search_quotas.hpp>
#include <motet/plan/search/search.hpp>
#include <motet/tensor/random.hpp>

#include <cmath>

namespace {

using namespace motet;

struct question {
  const char* model;
  const char* cluster;
  motet::isize samples, contrastive;
};
constexpr question questions[] = {
    {"clip-1.1b", "v100:1", 64, 0},
    {"clip-1.1b", "v100", 512, 0},
    {"clip-9.3b", "v100", 512, 0},
    {"coca-26b", "v100", 512, 0},
    {"clip-19.7b", "v100", 2048, 512},
    {"clip-1.1b", "h100:8", 32768, 0},
    {"clip-1.1b", "v100:512", 32768, 0},
    {"coca-26b", "v100:512", 32768, 0},
    {"clip-19.7b", "h100:512", 131072, 32768},
};

void search(benchmark::State& state, const question& asked, search_options options) {
  const model_shape model = find_model(asked.model)->make();
  const cluster_facts on = cluster_named(asked.cluster);
  options.contrastive_batch = asked.contrastive;
  options.bytes = on.bytes;
  search_result found;
  bench::series took;
  for (auto _ : state)
    state.SetIterationTime(took.take([&] { found = search_plans(model, on, asked.samples, options); }));
  auto& row = state.counters;
  row["devices"] = on.devices();
  row["batch"] = static_cast<double>(asked.samples);
  row["seconds"] = took.median();
  row["considered"] = static_cast<double>(found.considered);
  row["simulated"] = static_cast<double>(found.simulated);
  row["step_seconds"] = found.plans[0].gives.step_seconds;
}

// An encoder, a language model and a generator, one behind the other.
void chain(benchmark::State& state, const chain_model& model, chain_search by) {
  const chain_costs costs(model, cluster_named("a800-1296"), 1920);
  const list<double> pictures = draw_pictures(model, 1920);
  chain_answer found;
  bench::series took(bench::thread_seconds);
  for (auto _ : state) state.SetIterationTime(took.take([&] { found = search_chain(by, costs, pictures); }));
  state.counters["seconds"] = took.median();
  state.counters["considered"] = static_cast<double>(found.considered);
  state.counters["step_seconds"] = found.gives.step_seconds;
}

// Cells of a job, by the rule that chooses the plan that stands for one.
void plan_of_cell(benchmark::State& state, const char* name, const job_cell& cell, cell_choice by) {
  const model_shape model = find_model(name)->make();
  const cluster_facts kind = cluster_named("v100");
  cell_options options;
  options.by = by;
  options.bytes = kind.bytes;
  const comm_table wires = modelled_table(kind, cell.devices, options.bars.wires);
  cell_row found;
  bench::series took(bench::thread_seconds);
  for (auto _ : state)
    state.SetIterationTime(took.take([&] { found = price_cell(model, kind, 512, cell, wires, options); }));
  state.counters["seconds"] = took.median();
  state.counters["considered"] = static_cast<double>(found.considered);
  state.counters["step_seconds"] = found.gives.step_seconds.value;
}

// Towers that wait for nobody, of three kinds, share the GPUs of a node: two samples for each GPU.
void quotas(benchmark::State& state, std::size_t towers, std::int32_t gpus) {
  const cluster_facts node = cluster_named("h100:1x" + std::to_string(gpus));
  quota_question asked = quotas_of_towers(find_model("three-towers")->make(), node, 2 * gpus);
  while (asked.modules.size() < towers) asked.modules.push_back(asked.modules[asked.modules.size() - 3]);
  quota_answer found;
  bench::series took(bench::thread_seconds);
  for (auto _ : state) state.SetIterationTime(took.take([&] { found = search_quotas(asked); }));
  state.counters["seconds"] = took.median();
  state.counters["step_seconds"] = found.best.seconds;
  state.counters["of_waves"] = found.waves.seconds / found.best.seconds;
}

// Orders samples for a chain of four stages, whose first and last are log-normal. swaps: of the microbatches
// of each replica.
void order(benchmark::State& state, std::int32_t samples, std::int32_t replicas, std::int32_t swaps) {
  const random_stream draws(1, "samples");
  sample_times of{4, samples, {}, {2, 2, 2, 2}};
  for (std::int32_t s = 0; s < of.stages; ++s)
    for (std::int32_t k = 0; k < samples; ++k)
      of.forward.push(
          s == 1 || s == 2 ? 1 : std::exp(.6 * draws.normal(static_cast<std::uint64_t>(s * samples + k))));
  const auto judge = [](const microbatch_times& times, const microbatch_order& by) {
    return one_f_one_b_seconds(times, by);
  };
  bench::series took(bench::thread_seconds);
  for (auto _ : state)
    state.SetIterationTime(took.take([&] {
      benchmark::DoNotOptimize(
          order_step(of, {replicas, samples / replicas}, judge, {.tries = swaps}).size());
    }));
  state.counters["seconds"] = took.median();
}

}  // namespace

int main(int count, char** words) {
  search_options wanted;
  motet::options line("bench_search", "what a search for a plan takes");
  line.count("--finalists", wanted.finalists, 1, "plans that are simulated, about");
  return bench::run(count, words, line, [&] {
    for (const char* const model : {"clip-1.1b", "clip-9.3b"})
      for (const job_cell& cell : {job_cell{0, 16, 1}, job_cell{0, 16, 4}, job_cell{0, 16, 8}})
        for (const auto& [rule, by] :
             {std::pair{"published", cell_choice::published}, std::pair{"estimated", cell_choice::estimated}})
          bench::add(
              "cell/" + std::string(model) + "/v100/stages:" + std::to_string(cell.stages) + "/" + rule,
              plan_of_cell, model, cell, by);
    for (const auto& [samples, replicas] : {std::pair{1920, 160}, std::pair{8192, 64}})
      for (const std::int32_t swaps : {0, 200})
        bench::add("order/samples:" + std::to_string(samples) + "/replicas:" + std::to_string(replicas) +
                       "/swaps:" + std::to_string(swaps),
                   order, samples, replicas, swaps)
            ->Unit(benchmark::kMillisecond);
    for (const std::size_t towers : {std::size_t{3}, std::size_t{6}, std::size_t{12}})
      for (const std::int32_t gpus : {1, 4})
        bench::add("quotas/towers:" + std::to_string(towers) + "/gpus:" + std::to_string(gpus), quotas,
                   towers, gpus)
            ->Unit(benchmark::kMillisecond);
    for (const chain_model& each : known_chains)
      for (const auto& [rule, by] :
           {std::pair{"disttrain", chain_search::disttrain}, std::pair{"motet", chain_search::motet}})
        bench::add("chain/" + std::string(each.name.view()) + "/a800-1296/" + rule, chain, each, by)
            ->Unit(benchmark::kMillisecond);
    for (const question& each : questions)
      bench::add(
          "search/" + std::string(each.model) + "/" + each.cluster + "/batch:" + std::to_string(each.samples),
          search, each, wanted)
          ->Unit(benchmark::kMillisecond);
  });
}
