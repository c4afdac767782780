// SPDX-License-Identifier: Apache-2.0
// What a search for a plan takes on one core, from 8 to 4096 devices. Prints JSON, a line for each model and cluster.
//
//   bench_search [--finalists 24]     plans that are simulated, about
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/describe/model_presets.hpp>
#include <motet/plan/search/search.hpp>
#include <motet/tools/options.hpp>

#include <chrono>
#include <cstdio>

namespace {

using namespace motet;

struct question {
  const char* model;
  const char* cluster;
  motet::index samples, contrastive;
};
constexpr question asked[] = {
    {"clip-1.1b", "v100:1", 64, 0},      {"clip-1.1b", "v100", 512, 0},      {"clip-9.3b", "v100", 512, 0},
    {"coca-26b", "v100", 512, 0},        {"clip-19.7b", "v100", 2048, 512},  {"clip-1.1b", "h100:8", 32768, 0},
    {"clip-1.1b", "v100:512", 32768, 0}, {"coca-26b", "v100:512", 32768, 0}, {"clip-19.7b", "h100:512", 131072, 32768},
};

}  // namespace

int main(int arguments, char** words) {
  search_options options;
  motet::options line("bench_search", "what a search for a plan takes");
  line.count("--finalists", options.finalists, 1, "plans that are simulated, about");
  try {
    if (!line.parse(arguments, words)) return std::fputs(line.help().c_str(), stdout) < 0 ? 1 : 0;
    for (const question& each : asked) {
      const model_shape model = find_model(each.model)->make();
      const cluster_facts on = cluster_named(each.cluster);
      options.contrastive_batch = each.contrastive;
      options.bytes = on.bytes;
      const auto from = std::chrono::steady_clock::now();
      const search_result found = search_plans(model, on, each.samples, options);
      const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
      std::printf(
          "{\"model\": \"%s\", \"devices\": %d, \"batch\": %td, \"seconds\": %.3f, \"considered\": %td, \"simulated\": %td, \"step_seconds\": "
          "%.6f}\n",
          each.model, on.devices(), each.samples, took, found.considered, found.simulated, found.plans[0].gives.step_seconds);
      std::fflush(stdout);
    }
  } catch (const error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
  return 0;
}
