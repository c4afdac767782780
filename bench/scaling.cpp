// SPDX-License-Identifier: Apache-2.0
// Data parallelism over processes: a step of N ranks with a batch each, beside a step of one of them while the others rest. Runs take turns, and medians
// count. Rank 0 prints JSON.
//
//   mpirun -n 2 bench_scaling [--rounds 9] [--batch 32] [--trace FILE]        batch: of each rank; FILE: a trace of the last step, for Perfetto
#if !defined(MOTET_HAS_MPI)
#include <cstdio>
int main() { std::puts("built without MPI"); }
#else
#include <motet/backend/cpu/device.hpp>
#include <motet/backend/transport/mpi_group.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#include <motet/runtime/stage/plan_choices.hpp>
#include <motet/runtime/train/pipeline_trainer.hpp>
#include <motet/schedule/draw/draw_trace.hpp>
#include <motet/tools/options.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace {

using namespace motet;
using count = motet::index;

// The model `small` of train_clip.
constexpr vit_config picture{.image = 64, .patch = 8, .width = 384, .layers = 12, .heads = 6, .embedding = 256, .pre_norm = true};
constexpr text_config caption{.vocabulary = 1024, .context = 32, .width = 256, .layers = 6, .heads = 4, .embedding = 256};
using clip = model<join<info_nce, motet::module<"picture", vit<picture>>, motet::module<"caption", text_tower<caption>>>>;
using processes = process_rank<mpi::world, mpi::endpoint>;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}
struct input {
  std::vector<float> pixels;
  std::vector<std::int32_t> ids;
  count samples;
  explicit input(count all) : samples(all) {
    const random_stream normal(1, "pixels"), words(1, "words");
    for (count i = 0; i < all * 3 * 64 * 64; ++i) pixels.push_back(static_cast<float>(normal.normal(static_cast<std::uint64_t>(i))));
    for (count i = 0; i < all * 32; ++i) ids.push_back(static_cast<std::int32_t>(words.below(static_cast<std::uint64_t>(i), 1024)));
  }
  clip::batch batch() const { return {pictures{pixels.data(), samples}, tokens{ids.data(), {samples, 32, nullptr}}}; }
};

int run(int argc, char** argv) {
  count rounds = 9, batch = 32;
  std::string trace;
  options line("bench_scaling", "data parallelism over processes beside one of them");
  line.count("--rounds", rounds, 1, "rounds of both");
  line.count("--batch", batch, 1, "samples of each rank");
  line.text("--trace", trace, "FILE", "writes a trace of the last step");
  if (!line.parse(argc, argv)) return std::fputs(line.help().c_str(), stdout) < 0 ? 1 : 0;
  mpi::session here;
  const std::int32_t ranks = here.ranks();
  plan all;
  all.cluster.ranks = ranks;
  all.modules.push(on_ranks("picture", 0, {.data = ranks}));
  all.modules.push(on_ranks("caption", 0, {.data = ranks}));
  score order;
  enforce(check_plan(all, facts_of<clip>(), batch * ranks), "the plan");
  enforce(write_plan(all, facts_of<clip>(), order), "the plan");
  pipeline_config config;
  config.batch = batch * ranks;
  config.modules = choices_of(all);
  pipeline_trainer<clip, cpu::device, fp32, processes> many(order, config);
  many.prepare();
  cpu::device device(1);
  device_trainer<clip, cpu::device, fp32> one(device, {.batch = batch});
  one.prepare();
  const input small(batch), large(batch * ranks);
  std::vector<double> alone, together, ratios;
  timeline when;
  for (count k = 0; k <= rounds; ++k) {
    many.ranks().barrier();
    double seconds = here.rank() == 0 ? one.step(small.batch(), 1e-4).seconds : 0;
    many.ranks().sum(&seconds, 1);
    many.ranks().barrier();
    const double all_seconds = many.step(large.batch(), 1e-4, k == rounds && !trace.empty() ? &when : nullptr).seconds;
    if (k == 0) continue;  // warm
    alone.push_back(seconds);
    together.push_back(all_seconds);
    ratios.push_back(ranks * seconds / all_seconds);
  }
  if (here.rank() != 0) return 0;
  if (!trace.empty()) std::ofstream(trace) << draw_trace(many.of(), when);
  std::sort(ratios.begin(), ratios.end());
  std::printf(
      "{\"ranks\": %d, \"batch_of_a_rank\": %td, \"one_seconds\": %.4f, \"all_seconds\": %.4f, \"speed_up\": %.3f, \"least\": %.3f, \"most\": %.3f, "
      "\"cpu\": \"%s\"}\n",
      ranks, batch, median(alone), median(together), median(ratios), ratios.front(), ratios.back(), device.describe().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
}
#endif
