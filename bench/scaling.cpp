// SPDX-License-Identifier: Apache-2.0
// Data parallelism over processes: a step of N ranks with a batch each, beside a step of one of them while
// the others rest, in turns. Rank 0 reports.
//
//   mpirun -n 2 bench_scaling [--batch 32] [--trace FILE] [flags of Google Benchmark]
//       batch: of each rank; FILE: one more step, for Perfetto
#if !defined(MOTET_HAS_MPI)
#include <cstdio>
int main() { std::puts("built without MPI"); }
#else
#include "small.hpp"
#include "suite.hpp"

#include <motet/backend/transport/mpi/mpi_group.hpp>
#include <motet/front/trainer.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#include <motet/runtime/stage/plan_choices.hpp>
#include <motet/schedule/draw/draw_trace.hpp>
#include <motet/tools/process/options.hpp>

#include <fstream>

namespace {

using namespace motet;
using bench::small;
using processes = process_rank<mpi::world, mpi::endpoint>;

void scale(benchmark::State& state, mpi::session& here, motet::isize batch, const std::string& trace) {
  const std::int32_t ranks = here.ranks();
  plan all;
  all.cluster.ranks = ranks;
  all.modules.push(on_ranks("picture", 0, {.data = ranks}));
  all.modules.push(on_ranks("caption", 0, {.data = ranks}));
  score order;
  enforce(check_plan(all, facts_of<small>(), batch * ranks), "the plan");
  enforce(write_plan(all, facts_of<small>(), order), "the plan");
  pipeline_config config;
  config.batch = batch * ranks;
  config.modules = choices_of(all);
  pipeline_trainer<small, cpu::device, fp32, processes> many(order, config);
  many.prepare();
  const launched_world lone(launched{}, 1);
  trainer<small> one(lone, {.batch = batch});
  one.prepare();
  const bench::noise few(batch), everyones(batch * ranks);
  const auto alone = [&] {
    many.ranks().barrier();
    double seconds = here.rank() == 0 ? one.step(few.batch(), 1e-4).seconds : 0;
    many.ranks().sum(&seconds, 1);  // all ranks say the same, so that all of them do as many steps
    many.ranks().barrier();
    return seconds;
  };
  const auto together = [&] {
    const double own = many.step(everyones.batch(), 1e-4).seconds;
    double seconds = here.rank() == 0 ? own : 0;
    many.ranks().sum(&seconds, 1);
    return seconds;
  };
  alone();
  together();  // warm
  bench::series single, spread;
  for (auto _ : state) {
    single.add(alone());
    state.SetIterationTime(spread.add(together()));
  }
  if (!trace.empty()) {
    timeline when;
    many.step(everyones.batch(), 1e-4, &when);
    if (here.rank() == 0) std::ofstream(trace) << draw_trace(many.of(), when);
  }
  const bench::series faster = single / spread;
  auto& row = state.counters;
  row["own_seconds"] = spread.median();
  row["peer_seconds"] = single.median();
  row["speed_up"] = ranks * faster.median();
  row["least"] = ranks * faster.least();
  row["most"] = ranks * faster.most();
  state.SetLabel(one.device().describe());
}

int run(int count, char** words) {
  motet::isize batch = 32;
  std::string trace;
  options line("bench_scaling", "data parallelism over processes beside one of them");
  line.count("--batch", batch, 1, "samples of each rank");
  line.text("--trace", trace, "FILE", "writes a trace of one more step");
  mpi::session here;
  const auto declare = [&] {
    const std::string name =
        "scaling/ranks:" + std::to_string(here.ranks()) + "/batch_of_a_rank:" + std::to_string(batch);
    bench::add(name, [&](benchmark::State& state) { scale(state, here, batch, trace); })
        ->Iterations(9)
        ->Unit(benchmark::kMillisecond);
  };
  return bench::run(count, words, line, declare, here.rank() == 0);
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(count, words);
  } catch (const error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
#endif
