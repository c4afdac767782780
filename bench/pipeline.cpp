// SPDX-License-Identifier: Apache-2.0
// Pipelines on threads: what the executor costs, how near the timed stand-in and a real pipeline come to the simulation, and how fast two ranks are
// beside one rank with a team of two threads. Runs take turns, and medians count. Prints JSON.
//
//   bench_pipeline [--rounds 5] [--batch 64] [--microbatches 16] [--svg FILE]        FILE: plan above run, of the real pipeline's last step
#include <motet/backend/cpu/device.hpp>
#include <motet/backend/transport/local_group.hpp>
#include <motet/runtime/ranks/stand_in.hpp>
#include <motet/runtime/train/pipeline_trainer.hpp>
#include <motet/schedule/draw/draw_svg.hpp>
#include <motet/schedule/simulate/analyse.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/tools/options.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace motet;
using count = motet::index;
using on_threads = stand_in<local::world, local::endpoint>;

// The model `small` of train_clip.
constexpr vit_config picture{.image = 64, .patch = 8, .width = 384, .layers = 12, .heads = 6, .embedding = 256, .pre_norm = true};
constexpr text_config caption{.vocabulary = 1024, .context = 32, .width = 256, .layers = 6, .heads = 4, .embedding = 256};
using clip = model<join<info_nce, motet::module<"picture", vit<picture>>, motet::module<"caption", text_tower<caption>>>>;
using pipeline = pipeline_trainer<clip, cpu::device, fp32, thread_ranks<local::world, local::endpoint>>;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}
double makespan(const program& of, const cost_table& costs) {
  timeline when;
  if (const finding found = simulate(of, costs, when); !found.ok()) fail(reason_messages[static_cast<int>(found.why)], explain(of, found));
  return when.makespan;
}

// Nothing to compute: microseconds for each instruction of a rank.
double overhead(int ranks, int microbatches) {
  const program of = compile(one_f_one_b::write({ranks, microbatches}));
  on_threads all(of, even_costs(of, {0, 0, 0}), 1);
  std::vector<double> found;
  for (int k = 0; k < 5; ++k) found.push_back(all.run().seconds * 1e6 * ranks / static_cast<double>(of.instructions.size()));
  return median(found);
}

// 64 ranks that wait instead of computing, over the simulation.
double stand_in_ratio(double unit) {
  const program of = compile(one_f_one_b::write({64, 128}));
  const cost_table costs = even_costs(of, {1, 1, 1});
  on_threads all(of, costs, unit);
  const double planned = makespan(of, costs) * unit;
  std::vector<double> found;
  for (int k = 0; k < 3; ++k) found.push_back(all.run().seconds / planned);
  return median(found);
}

// Both towers on two ranks: the pictures in two stages, the captions beside the second one. Rank 1 has nothing else to do while the first microbatch is
// on its way, and the captions' backward fills its end.
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

// Pictures of noise and captions of full length: every step costs the same.
struct noise {
  std::vector<float> pixels;
  std::vector<std::int32_t> ids;
  count samples;
  explicit noise(count batch) : samples(batch) {
    const random_stream draw(1, "bench");
    for (count i = 0; i < batch * 3 * picture.image * picture.image; ++i) pixels.push_back(draw.uniform(static_cast<std::uint64_t>(i)) - 0.5f);
    for (count i = 0; i < batch * caption.context; ++i) ids.push_back(static_cast<std::int32_t>(draw.below(static_cast<std::uint64_t>(i), 1024)));
  }
  clip::batch all() const { return {pictures{pixels.data(), samples}, tokens{ids.data(), {samples, caption.context, nullptr}}}; }
};

struct comparison {
  std::vector<double> ranks, team, alone;                   // seconds of a step
  std::vector<double> to_plan, to_last, to_team, to_alone;  // ratios of one round
  double planned = 0, idle = 0, loss_apart = 0;
};

comparison train(count batch, int microbatches, int rounds, const std::string& svg) {
  pipeline_config config;
  config.batch = batch;
  pipeline ranks(two_ranks(microbatches), config);
  ranks.prepare();
  cpu::device two(2), one(1);
  trainer_config plain;
  plain.batch = batch;
  device_trainer<clip, cpu::device, fp32> team(two, plain), alone(one, plain);
  team.prepare();
  alone.prepare();

  const noise data(batch);
  const program& of = ranks.of();
  comparison out;
  list<timeline> runs;
  double expected = 0;
  for (int k = 0; k <= rounds; ++k) {
    timeline when;
    const step_result a = ranks.step(data.all(), 1e-4, &when), b = team.step(data.all(), 1e-4), c = alone.step(data.all(), 1e-4);
    out.loss_apart = std::max(out.loss_apart, std::abs(a.loss - c.loss) / c.loss);
    // The first step warms up; each later one is also foretold by the one before it.
    if (k > 0) {
      out.ranks.push_back(a.seconds);
      out.team.push_back(b.seconds);
      out.alone.push_back(c.seconds);
      out.to_last.push_back(when.makespan / expected);
      out.to_team.push_back(b.seconds / a.seconds);
      out.to_alone.push_back(c.seconds / a.seconds);
      out.to_plan.push_back(when.makespan / makespan(of, measured_costs(of, {when})));
      runs.push(when);
    }
    expected = makespan(of, measured_costs(of, {when}));
  }
  const cost_table costs = measured_costs(of, runs);
  timeline planned;
  simulate(of, costs, planned);
  out.planned = planned.makespan;
  out.idle = analyse(of, costs, runs.back()).bubble_rate;
  if (!svg.empty()) std::ofstream(svg) << draw_overlay_svg(of, planned, runs.back(), {.title = "two towers on two ranks", .unit = "s"});
  return out;
}

void print(const char* name, const std::vector<double>& values, const char* end = ",") {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::printf("  \"%s\": %.4f, \"%s_low\": %.4f, \"%s_high\": %.4f%s\n", name, median(values), name, *low, name, *high, end);
}

}  // namespace

int main(int arguments, char** words) {
  count rounds = 5, batch = 64, microbatches = 16;
  std::string svg;
  options line("bench_pipeline", "pipelines on threads beside their simulation, and beside a single rank");
  line.count("--rounds", rounds, 1, "of each trainer");
  line.count("--batch", batch, 8, "pairs in a step");
  line.count("--microbatches", microbatches, 1, "of the pictures");
  line.text("--svg", svg, "FILE", "a picture of the last step, planned above run");
  try {
    if (!line.parse(arguments, words)) return std::fputs(line.help().c_str(), stdout) < 0 ? 1 : 0;
    std::printf("{\n \"cpu\": \"%s\",\n", cpu::describe_cpu().c_str());
    std::printf(" \"executor\": {\"microseconds_an_instruction_1_rank\": %.3f, \"microseconds_an_instruction_2_ranks\": %.3f},\n",
                overhead(1, 200000), overhead(2, 20000));
    std::printf(" \"stand_in\": {\"ranks\": 64, \"microbatches\": 128, \"unit_ms\": 4, \"measured_over_simulated\": %.4f},\n", stand_in_ratio(0.004));
    std::fflush(stdout);
    const comparison found = train(batch, static_cast<int>(microbatches), static_cast<int>(rounds), svg);
    std::printf(
        " \"pipeline\": {\n  \"model\": \"small\", \"precision\": \"fp32\", \"batch\": %td, \"ranks\": 2, \"microbatches\": %td, \"rounds\": %td,\n",
        batch, microbatches, rounds);
    print("step_seconds", found.ranks);
    std::printf("  \"simulated_seconds\": %.4f, \"idle\": %.4f, \"loss_from_single_rank\": %.1e,\n", found.planned, found.idle, found.loss_apart);
    print("measured_over_simulated", found.to_plan);
    print("measured_over_simulated_from_the_step_before", found.to_last);
    print("one_rank_two_threads_seconds", found.team);
    print("one_rank_one_thread_seconds", found.alone);
    print("speed_over_two_threads", found.to_team);
    print("speed_over_one_thread", found.to_alone, "");
    std::printf(" }\n}\n");
  } catch (const error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
  return 0;
}
