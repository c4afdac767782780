// SPDX-License-Identifier: Apache-2.0
// Times what a plan for thousands of ranks costs before anything runs: to write its order, to prove and
// compile it, to check the program and lay it out for its ranks.
//
//   bench_plan [--replicas 64] [flags of Google Benchmark]
//       of the light tower; the heavy one has three quarters as many, of 64 ranks each. The graph has 16 ranks
//       of an eye for each, which feed half as many language models of 64 ranks, in four microbatches for
//       each. A small graph, of three modules on 64 ranks in 32 microbatches, says what one step's order
//       costs
#include "suite.hpp"

#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/ranks/executor.hpp>
#include <motet/schedule/check/prove.hpp>
#include <motet/tools/process/options.hpp>

namespace {

using namespace motet;

plan of_replicas(std::int32_t light) {
  const std::int32_t heavy = 3 * light / 4;
  plan out;
  out.modules.push(on_ranks("picture", 0, {.stages = 8, .data = heavy, .tensor = 8}, 32));
  out.modules.push(on_ranks("caption", 64 * heavy, {.stages = 4, .data = light, .tensor = 4}, 32));
  for (module_plan& each : out.modules) each.group = 8;
  out.modules[0].stash = 2;
  out.cluster.ranks = 64 * heavy + 16 * light;
  out.cluster.ranks_per_node = 8;
  return out;
}

plan graph_of_replicas(std::int32_t replicas) {
  const std::int32_t eyes = 16 * replicas, parts = 4 * replicas;
  plan out;
  out.schedule = "1f1b";
  out.modules.push(on_ranks("eye", 0, {.data = eyes}, parts));
  out.modules.push(on_ranks("glue", 0, {.data = eyes}, parts));
  out.modules.push(on_ranks("talk", eyes, {.stages = 8, .data = replicas / 2, .tensor = 8}, parts));
  for (module_plan& each : out.modules) each.group = 1;
  out.cluster.ranks = eyes + 64 * (replicas / 2);
  out.cluster.ranks_per_node = 8;
  return out;
}
plan graph_of_64_ranks() {
  plan out;
  out.schedule = "1f1b";
  out.modules.push(on_ranks("eye", 0, {.data = 16}, 32));
  out.modules.push(on_ranks("glue", 0, {.data = 16}, 32));
  out.modules.push(on_ranks("talk", 16, {.stages = 6, .data = 2, .tensor = 4}, 32));
  for (module_plan& each : out.modules) each.group = 1;
  out.cluster.ranks = 64;
  out.cluster.ranks_per_node = 8;
  return out;
}
const list<module_facts>& towers() {
  static const list<module_facts> all{{.name = "picture", .layers = 48, .key_heads = 16},
                                      {.name = "caption", .layers = 24, .key_heads = 16}};
  return all;
}
const list<module_facts>& graph() {
  static const list<module_facts> all{
      {.name = "eye", .layers = 24, .key_heads = 16, .meets = false},
      {.name = "glue", .attends = false, .from = {0}, .meets = false},
      {.name = "talk", .layers = 56, .key_heads = 16, .from = {1}, .takes_parts = true}};
  return all;
}

void before_a_run(benchmark::State& state, const plan& of, const list<module_facts>& facts,
                  motet::isize samples) {
  double ranks = 0, instructions = 0;
  bench::series writes, proves, compiles, lays;
  for (auto _ : state) {
    score order;
    double all = writes.take([&] {
      enforce(check_plan(of, facts, samples), "the plan");
      enforce(write_plan(of, facts, order, samples), "the plan");
    });
    all += proves.take([&] { enforce(prove(order), "the order"); });
    program made;
    all += compiles.take([&] { made = compile(order); });
    ranks = made.ranks();
    instructions = static_cast<double>(made.instructions.size());
    all += lays.take([&] { benchmark::DoNotOptimize(score_sheet(std::move(made)).messages); });
    state.SetIterationTime(all);
  }
  auto& row = state.counters;
  row["ranks"] = ranks;
  row["instructions"] = instructions;
  row["write_seconds"] = writes.median();
  row["prove_seconds"] = proves.median();
  row["compile_seconds"] = compiles.median();
  row["lay_seconds"] = lays.median();
}

}  // namespace

int main(int count, char** words) {
  motet::isize replicas = 64;
  options line("bench_plan", "what a plan for thousands of ranks costs before anything runs");
  line.count("--replicas", replicas, 4, "of the light module");
  return bench::run(count, words, line, [&] {
    const auto light = static_cast<std::int32_t>(replicas);
    const std::string each = "/replicas:" + std::to_string(replicas);
    bench::add("plan" + each, before_a_run, of_replicas(light), towers(), 1024 * replicas)
        ->Unit(benchmark::kMillisecond);
    bench::add("graph" + each, before_a_run, graph_of_replicas(light), graph(), 4096 * replicas)
        ->Unit(benchmark::kMillisecond);
    bench::add("graph/ranks:64", before_a_run, graph_of_64_ranks(), graph(), 1024)
        ->Unit(benchmark::kMillisecond);
  });
}
