// SPDX-License-Identifier: Apache-2.0
// An order of one's own: proven by the compiler, simulated, and trained by.
#include <motet/front/trainer.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/plan_for.hpp>
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/simulate/analyse.hpp>
#include <motet/tools/report/draw_schedule.hpp>

#include <cstdio>

using namespace motet;
using namespace motet::strategy;

// All forwards, then all backwards, the last microbatch first: what was kept last is used first.
struct last_first {
  static constexpr const char* name = "last_first";
  using shape = pipeline_shape;
  static constexpr verdict check(const shape& of) { return check_counts(of); }
  static constexpr score write(const shape& of) {
    score out;
    voice tower{.name = "tower", .stages = of.stages, .microbatches = of.microbatches};
    const int number = out.add(tower, [](int stage) { return stage; });  // stage s lies on rank s
    for (int rank = 0; rank < of.stages; ++rank) {
      out.rank();
      for (int m = 0; m < of.microbatches; ++m) out.play(op::forward, number, rank, m);
      for (int m = of.microbatches; m-- > 0;) out.play(op::backward, number, rank, m);
    }
    return out;
  }
};
static_assert(proven<last_first, pipeline_shape{.stages = 4, .microbatches = 8}>);

using picture_net =
    vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 2, .heads = 2, .embedding = 16}>;
using pair = model<join<info_nce, module<"left", picture_net>, module<"right", picture_net>>>;
// Two towers of two stages each, by that order, meet in one loss of four microbatches.
using layout = plan_for<pair, on<"left", ranks<0, 2>, stages<2>>, on<"right", ranks<2, 4>, stages<2>>,
                        by<last_first, microbatches<4>>>;

int main(int argc, char** argv) {
  const program of = compile(last_first::write({.stages = 4, .microbatches = 8}));
  timeline when;
  const cost_table costs = even_costs(of, {.forward = 1, .backward_input = 1, .backward_weight = 1});
  simulate(of, costs, when);
  const auto world = launch(argc, argv);  // four threads of this process, or four processes
  trainer<pair> train(world, layout::value(), {.batch = 16});
  if (train.is_main()) {
    std::printf("%.0f units, %.0f %% idle\n", when.makespan, 100 * analyse(of, costs, when).bubble_rate);
    for (const char* file : {"last_first.svg", "last_first.csv"}) draw_schedule(file, of, when);
  }
  const random_stream draws(1, "tutorial");
  std::vector<float> shown(16 * 3 * 16 * 16), mirrored(shown);
  for (std::size_t i = 0; i < shown.size(); ++i) mirrored[i ^ 15] = shown[i] = float(draws.normal(i));
  for (int step = 1; step <= 100; ++step) {
    const step_result done = train.step({pictures{shown.data(), 16}, pictures{mirrored.data(), 16}}, 5e-4);
    if (train.is_main() && step % 99 == 1) std::printf("step %d  loss %.1f\n", step, done.loss);
  }
}
