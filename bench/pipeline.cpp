// SPDX-License-Identifier: Apache-2.0
// Pipelines on threads: what the executor costs, how near the timed stand-in and a real pipeline come to the
// simulation, and how fast two ranks are beside one rank with a team of two threads. Steps take turns, and
// medians count.
//
//   bench_pipeline [--batch 64] [--microbatches 16] [--svg FILE] [flags of Google Benchmark]
//       FILE: plan above run, of the real pipeline's last step
#include "small.hpp"
#include "suite.hpp"

#include <motet/backend/transport/local/local_group.hpp>
#include <motet/front/trainer.hpp>
#include <motet/runtime/ranks/stand_in.hpp>
#include <motet/schedule/draw/draw_svg.hpp>
#include <motet/schedule/simulate/analyse.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/tools/process/options.hpp>

#include <cmath>
#include <fstream>

namespace {

using namespace motet;
using bench::small;
using on_threads = stand_in<local::world, local::endpoint>;
using pipeline = pipeline_trainer<small, cpu::device, fp32, thread_ranks<local::world, local::endpoint>>;

double makespan(const program& of, const cost_table& costs) {
  timeline when;
  if (const finding found = simulate(of, costs, when); !found.ok()) fail(*found.why, explain(of, found));
  return when.makespan;
}

// Nothing to compute: microseconds for each instruction of a rank.
void overhead(benchmark::State& state, int ranks, int microbatches) {
  const program of = compile(one_f_one_b::write({ranks, microbatches}));
  on_threads all(of, even_costs(of, {0, 0, 0}), 1);
  bench::series took;
  for (auto _ : state) state.SetIterationTime(took.add(all.run().seconds));
  state.counters["microseconds_an_instruction"] =
      took.median() * 1e6 * ranks / static_cast<double>(of.instructions.size());
}

// Ranks that wait instead of computing, `unit` seconds for each forward, beside the simulation.
void waiting(benchmark::State& state, int ranks, int microbatches, double unit) {
  const program of = compile(one_f_one_b::write({ranks, microbatches}));
  const cost_table costs = even_costs(of, {1, 1, 1});
  on_threads all(of, costs, unit);
  const double planned = makespan(of, costs) * unit;
  bench::series took;
  for (auto _ : state) state.SetIterationTime(took.add(all.run().seconds));
  state.counters["simulated_seconds"] = planned;
  state.counters["measured_over_simulated"] = took.median() / planned;
}

// Both towers on two ranks: the pictures in two stages, the captions beside the second one. Rank 1 has
// nothing else to do while the first microbatch is on its way, and the captions' backward fills its end.
score two_ranks(int microbatches) {
  score out;
  voice made;
  made.join = 0;
  made.microbatches = made.group = microbatches;
  made.stages = 2;
  out.add(made, [](int stage) { return stage; });
  made.module = 1;
  made.stages = made.microbatches = made.group = 1;
  out.add(made, [](int) { return 1; });
  for (int r = 0; r < 2; ++r) {
    out.rank();
    if (r == 1) out.play(op::forward, 1, 0, 0);
    for (int m = 0; m < microbatches; ++m) out.play(op::forward, 0, r, m);
    if (r == 1) out.join(0, 0);
    for (int m = 0; m < microbatches; ++m) out.play(op::backward, 0, r, m);
    if (r == 1) out.play(op::backward, 1, 0, 0);
  }
  return out;
}

void tell(benchmark::State& state, const std::string& name, const bench::series& of) {
  state.counters[name] = of.median();
  state.counters[name + "_low"] = of.least();
  state.counters[name + "_high"] = of.most();
}

void train(benchmark::State& state, motet::isize batch, int microbatches, const std::string& svg) {
  pipeline_config config;
  config.batch = batch;
  pipeline ranks(two_ranks(microbatches), config);
  ranks.prepare();
  const launched_world two(launched{}, 2), one(launched{}, 1);
  trainer<small> team(two, {.batch = batch}), alone(one, {.batch = batch});
  team.prepare();
  alone.prepare();

  const bench::noise data(batch);
  const program& of = ranks.of();
  bench::series spread, threads, thread;  // seconds of a step
  bench::series to_plan, to_last;         // measured over simulated
  list<timeline> runs;
  double expected = 0, loss_apart = 0;
  const auto step = [&](bool counts) {
    timeline when;
    const step_result a = ranks.step(data.batch(), 1e-4, &when), b = team.step(data.batch(), 1e-4),
                      c = alone.step(data.batch(), 1e-4);
    loss_apart = std::max(loss_apart, std::abs(a.loss - c.loss) / c.loss);
    const double told = makespan(of, measured_costs(of, {when}));
    if (counts) {
      spread.add(a.seconds);
      threads.add(b.seconds);
      thread.add(c.seconds);
      to_plan.add(when.makespan / told);
      to_last.add(when.makespan / expected);
      runs.push(when);
    }
    expected = told;
    return a.seconds;
  };
  step(false);  // warms up; each later one is also foretold by the one before it
  for (auto _ : state) state.SetIterationTime(step(true));
  const cost_table costs = measured_costs(of, runs);
  timeline planned;
  simulate(of, costs, planned);
  if (!svg.empty())
    std::ofstream(svg) << draw_overlay_svg(of, planned, runs.back(),
                                           {.title = "two towers on two ranks", .unit = "s"});
  tell(state, "own_seconds", spread);
  tell(state, "one_rank_two_threads_seconds", threads);
  tell(state, "one_rank_one_thread_seconds", thread);
  tell(state, "ratio", threads / spread);
  tell(state, "ratio_to_one_thread", thread / spread);
  tell(state, "measured_over_simulated", to_plan);
  tell(state, "measured_over_simulated_from_the_step_before", to_last);
  state.counters["simulated_seconds"] = planned.makespan;
  state.counters["idle"] = analyse(of, costs, runs.back()).bubble_rate;
  state.counters["loss_from_single_rank"] = loss_apart;
}

}  // namespace

int main(int count, char** words) {
  motet::isize batch = 64, microbatches = 16;
  std::string svg;
  options line("bench_pipeline", "pipelines on threads beside their simulation, and beside a single rank");
  line.count("--batch", batch, 8, "pairs in a step");
  line.count("--microbatches", microbatches, 1, "of the pictures");
  line.text("--svg", svg, "FILE", "a picture of the last step, planned above run");
  return bench::run(count, words, line, [&] {
    bench::add("executor/ranks:1/microbatches:200000", overhead, 1, 200000)
        ->Iterations(5)
        ->Unit(benchmark::kMillisecond);
    bench::add("executor/ranks:2/microbatches:20000", overhead, 2, 20000)
        ->Iterations(5)
        ->Unit(benchmark::kMillisecond);
    bench::add("stand_in/ranks:64/microbatches:128/unit_ms:4", waiting, 64, 128, 0.004)
        ->Iterations(3)
        ->Unit(benchmark::kMillisecond);
    bench::add("pipeline/small/fp32/batch:" + std::to_string(batch) +
                   "/ranks:2/microbatches:" + std::to_string(microbatches),
               train, batch, static_cast<int>(microbatches), svg)
        ->Iterations(5)
        ->Unit(benchmark::kMillisecond);
  });
}
