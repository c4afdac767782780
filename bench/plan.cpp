// SPDX-License-Identifier: Apache-2.0
// What a plan for thousands of ranks costs before anything runs: to write its order, to prove and compile it, to check the program. Prints JSON.
//
//   bench_plan [--replicas 64]        of the light module; the heavy one has three quarters as many, of 64 ranks each
#include <motet/plan/prove/check_plan.hpp>
#include <motet/schedule/check/explain.hpp>
#include <motet/schedule/check/prove.hpp>
#include <motet/tools/options.hpp>

#include <chrono>
#include <cstdio>

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
template <class Body>
double seconds(Body&& body) {
  const auto from = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

}  // namespace

int main(int arguments, char** words) {
  motet::index replicas = 64;
  options line("bench_plan", "what a plan for thousands of ranks costs before anything runs");
  line.count("--replicas", replicas, 4, "of the light module");
  try {
    if (!line.parse(arguments, words)) return std::fputs(line.help().c_str(), stdout) < 0 ? 1 : 0;
    const plan of = of_replicas(static_cast<std::int32_t>(replicas));
    const list<module_facts> facts{{.name = "picture", .layers = 48, .key_heads = 16}, {.name = "caption", .layers = 24, .key_heads = 16}};
    const motet::index samples = 1024 * replicas;
    score order;
    program made;
    const double writes = seconds([&] {
      enforce(check_plan(of, facts, samples), "the plan");
      enforce(write_plan(of, facts, order), "the plan");
    });
    const double proves = seconds([&] { enforce(prove(order), "the order"); });
    const double compiles = seconds([&] { made = compile(order); });
    const double checks = seconds([&] { require_legal(made); });
    std::printf(
        "{\"ranks\": %d, \"instructions\": %td, \"write_seconds\": %.3f, \"prove_seconds\": %.3f, \"compile_seconds\": %.3f, \"check_seconds\": "
        "%.3f}\n",
        made.ranks(), made.instructions.size(), writes, proves, compiles, checks);
  } catch (const error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
  return 0;
}
