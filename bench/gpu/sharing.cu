// SPDX-License-Identifier: Apache-2.0
// Four ranks on one GPU, each with its own 32 multiprocessors: a pipelined step, measured, beside the
// simulation of its program fed with the stage times that the ranks measured. ViT-B/16 in three stages and
// CLIP's text tower in one, bf16, by 1F1B (a loss for each microbatch) and by batch_sync (a loss for half of
// the batch). `measured_over_simulated` is the median over steps of each step's makespan over the simulation
// with the medians of that step's own stage times; `from_the_step_before` feeds those of the step before it.
// The goal is 0.95 to 1.05.
//
//   bench_gpu_sharing [--smoke] [--turns N] [--share N]
//       multiprocessors of each rank; 0: all ranks on all of them
#include "timing.hpp"

#include "../../examples/train_clip/models.hpp"

#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>
#include <motet/model/model.hpp>
#include <motet/runtime/train/pipeline_trainer.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>
#include <motet/schedule/write/schedules.hpp>

namespace motet {

namespace {

double makespan(const program& of, const cost_table& costs) {
  timeline when;
  if (const finding found = simulate(of, costs, when); !found.ok()) fail(*found.why, explain(of, found));
  return when.makespan;
}

// Pictures of noise and captions of full length: every step costs the same.
template <vit_config Picture, text_config Caption>
struct noise {
  std::vector<float> pixels;
  std::vector<std::int32_t> ids;
  isize samples;
  explicit noise(isize batch)
      : pixels(static_cast<std::size_t>(batch * 3 * Picture.image * Picture.image)),
        ids(static_cast<std::size_t>(batch * Caption.context)),
        samples(batch) {
    const random_stream draw(1, "bench");
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = draw.uniform(i) - 0.5f;
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<std::int32_t>(draw.below(i, static_cast<std::uint32_t>(Caption.vocabulary)));
  }
};

template <vit_config Picture, text_config Caption>
void measure(cuda::device& on, const char* name, const score& order, isize batch, int share, int steps) {
  using net = model<join<info_nce, module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>>;
  using pipeline =
      pipeline_trainer<net, cuda::device, mixed_bf16, thread_ranks<shared_gpu::world, shared_gpu::endpoint>>;
  pipeline_config config;
  config.batch = batch;
  pipeline ranks(order, config);
  ranks.ranks().world().share(share);
  ranks.prepare();
  const noise<Picture, Caption> data(batch);
  const auto pinned = on.pin(data.pixels.data(), data.pixels.size() * sizeof(float));
  const typename net::batch whole{pictures{data.pixels.data(), batch},
                                  tokens{data.ids.data(), {batch, Caption.context, nullptr}}};
  const program& of = ranks.of();
  std::vector<double> measured, own, before, seconds;
  double expected = 0;
  list<timeline> all;
  for (int k = 0; k < steps + 2; ++k) {
    timeline when;
    const step_result found = ranks.step(whole, 1e-5, &when);
    const double simulated = makespan(of, measured_costs(of, {when}));
    // The first steps warm up; each later one is also foretold by the one before it.
    if (k > 1) {
      seconds.push_back(found.seconds);
      measured.push_back(when.makespan);
      own.push_back(when.makespan / simulated);
      before.push_back(when.makespan / expected);
      all.push(when);
    }
    expected = simulated;
  }
  const cost_table costs = measured_costs(of, all);
  bench::line(
      "{\"schedule\": \"%s\", \"ranks\": %d, \"multiprocessors\": %d, \"batch\": %td, \"steps\": %d, "
      "\"step_seconds\": %.6f, \"makespan_seconds\": "
      "%.6f, "
      "\"simulated_seconds\": %.6f, \"measured_over_simulated\": %.4f, \"from_the_step_before\": %.4f}",
      name, of.ranks(), share, batch, steps, bench::median(seconds), bench::median(measured),
      makespan(of, costs), bench::median(own), bench::median(before));
  bench::tell(
      "%-10s on %d ranks of %d multiprocessors: %.2f ms, %.3f of the simulation (%.3f by the step before)",
      name, of.ranks(), share, 1e3 * bench::median(measured), bench::median(own), bench::median(before));
}

template <vit_config Picture, text_config Caption>
void measure_both(cuda::device& on, isize batch, int microbatches, int share, int steps) {
  const auto one = [&](int stages) {
    return write_schedule("1f1b", {.stages = stages, .microbatches = microbatches});
  };
  measure<Picture, Caption>(on, "1f1b", joined(beside(one(3), one(1)), microbatches), batch, share, steps);
  batch_sync::shape towers;
  towers.count = 2;
  towers.towers[0] = {.stages = 3, .microbatches = microbatches, .group = microbatches / 2};
  towers.towers[1] = {.stages = 1, .microbatches = microbatches, .group = microbatches / 2};
  measure<Picture, Caption>(on, "batch_sync", batch_sync::write(towers), batch, share, steps);
}

}  // namespace

int measure(const bench::settings& how, int share) {
  return bench::on_gpu([&](cuda::device& on) {
    if (how.smoke) {
      constexpr vit_config picture{
          .image = 8, .patch = 4, .width = 16, .layers = 3, .heads = 2, .embedding = 8, .pre_norm = true};
      constexpr text_config caption{
          .vocabulary = 32, .context = 4, .width = 16, .layers = 2, .heads = 2, .embedding = 8};
      return measure_both<picture, caption>(on, 8, 4, share, 1);
    }
    measure_both<train_clip::b16_picture, train_clip::b16_caption>(on, 512, 16, share, how.turns(12));
  });
}

}  // namespace motet

int main(int count, char** words) {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  motet::load_kernels_first();
  motet::isize share = 32;
  motet::bench::settings how("bench_gpu_sharing",
                             "four ranks on one GPU, beside the simulation of their program");
  how.offer_turns();
  how.count("--share", share, 0, "multiprocessors of each rank; 0: all ranks on all of them");
  return how.run(count, words, [&] { return motet::measure(how, static_cast<int>(share)); });
}
