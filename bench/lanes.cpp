// SPDX-License-Identifier: Apache-2.0
// What a second lane of a rank costs where there is nothing to compute: an eye feeds words, and each
// microbatch goes there and back. In one lane the rank plays one instruction behind the other; with a lane
// for each, every microbatch is handed to the other lane's thread twice. Both take turns, and medians count.
//
//   bench_lanes [--microbatches 20000] [flags of Google Benchmark]
#include "suite.hpp"

#include <motet/backend/transport/local/local_group.hpp>
#include <motet/runtime/ranks/stand_in.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/tools/process/options.hpp>

namespace {

using namespace motet;
using on_threads = stand_in<local::world, local::endpoint>;

program there_and_back(int lanes, int microbatches) {
  score out;
  voice made;
  made.microbatches = made.group = microbatches;
  made.lane = lanes - 1;
  out.add(made, [](int) { return 0; });
  made.module = 1;
  made.lane = 0;
  out.add(made, [](int) { return 0; });
  out.feed(0, 1);
  out.rank();
  for (int m = 0; m < microbatches; ++m) {
    out.play(op::forward, 0, 0, m);
    out.play(op::forward, 1, 0, m);
    out.play(op::backward, 1, 0, m);
    out.play(op::backward, 0, 0, m);
  }
  return compile(out, {.update = false});
}

void hand_over(benchmark::State& state, int microbatches) {
  const program one_lane = there_and_back(1, microbatches), two_lanes = there_and_back(2, microbatches);
  on_threads one(one_lane, even_costs(one_lane, {0, 0, 0}), 1),
      two(two_lanes, even_costs(two_lanes, {0, 0, 0}), 1);
  bench::series together, apart;
  for (auto _ : state) {
    together.add(one.run().seconds);
    state.SetIterationTime(apart.add(two.run().seconds));
  }
  const double instructions = static_cast<double>(one_lane.instructions.size()),
               switches = 2.0 * microbatches;
  state.counters["microseconds_an_instruction_of_one_lane"] = 1e6 * together.median() / instructions;
  state.counters["microseconds_an_instruction_of_two"] = 1e6 * apart.median() / instructions;
  state.counters["microseconds_a_switch"] = 1e6 * (apart.median() - together.median()) / switches;
}

}  // namespace

int main(int count, char** words) {
  motet::isize microbatches = 20000;
  motet::options line("bench_lanes", "what a second lane of a rank costs");
  line.count("--microbatches", microbatches, 1, 1000000, "that go there and back");
  return bench::run(count, words, line, [&] {
    bench::add("lanes/switch/microbatches:" + std::to_string(microbatches), hand_over,
               static_cast<int>(microbatches))
        ->Iterations(9)
        ->Unit(benchmark::kMillisecond);
  });
}
