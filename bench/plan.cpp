// SPDX-License-Identifier: Apache-2.0
// Times what a plan for thousands of ranks costs before anything runs: to write its order, to prove and
// compile it, to check the program.
//
//   bench_plan [--replicas 64] [flags of Google Benchmark]
//       of the light module; the heavy one has three quarters as many, of 64 ranks each
#include "suite.hpp"

#include <motet/plan/prove/check_plan.hpp>
#include <motet/schedule/check/explain.hpp>
#include <motet/schedule/check/prove.hpp>
#include <motet/tools/options.hpp>

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

void before_a_run(benchmark::State& state, motet::isize replicas) {
  const plan of = of_replicas(static_cast<std::int32_t>(replicas));
  const list<module_facts> facts{{.name = "picture", .layers = 48, .key_heads = 16},
                                 {.name = "caption", .layers = 24, .key_heads = 16}};
  const motet::isize samples = 1024 * replicas;
  program made;
  bench::series writes, proves, compiles, checks;
  for (auto _ : state) {
    score order;
    double all = writes.take([&] {
      enforce(check_plan(of, facts, samples), "the plan");
      enforce(write_plan(of, facts, order), "the plan");
    });
    all += proves.take([&] { enforce(prove(order), "the order"); });
    all += compiles.take([&] { made = compile(order); });
    all += checks.take([&] { require_legal(made); });
    state.SetIterationTime(all);
  }
  auto& row = state.counters;
  row["ranks"] = made.ranks();
  row["instructions"] = static_cast<double>(made.instructions.size());
  row["write_seconds"] = writes.median();
  row["prove_seconds"] = proves.median();
  row["compile_seconds"] = compiles.median();
  row["check_seconds"] = checks.median();
}

}  // namespace

int main(int count, char** words) {
  motet::isize replicas = 64;
  options line("bench_plan", "what a plan for thousands of ranks costs before anything runs");
  line.count("--replicas", replicas, 4, "of the light module");
  return bench::run(count, words, line, [&] {
    bench::add("plan/replicas:" + std::to_string(replicas), before_a_run, replicas)
        ->Unit(benchmark::kMillisecond);
  });
}
