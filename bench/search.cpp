// SPDX-License-Identifier: Apache-2.0
// What a search for a plan takes on one core, from 8 to 4096 devices.
//
//   bench_search [--finalists 24] [flags of Google Benchmark]        plans that are simulated, about
#include "suite.hpp"

#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/describe/model_presets.hpp>
#include <motet/plan/search/search.hpp>

namespace {

using namespace motet;

struct question {
  const char* model;
  const char* cluster;
  motet::index samples, contrastive;
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

}  // namespace

int main(int count, char** words) {
  search_options wanted;
  motet::options line("bench_search", "what a search for a plan takes");
  line.count("--finalists", wanted.finalists, 1, "plans that are simulated, about");
  return bench::run(count, words, line, [&] {
    for (const question& each : questions)
      bench::add(
          "search/" + std::string(each.model) + "/" + each.cluster + "/batch:" + std::to_string(each.samples),
          search, each, wanted)
          ->Unit(benchmark::kMillisecond);
  });
}
