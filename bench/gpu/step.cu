// SPDX-License-Identifier: Apache-2.0
// A contrastive training step of ViT-L/14 and of ViT-B/16, each with CLIP's text tower, in bf16, for several batches: with its work recorded as a
// graph and given kernel by kernel, in turns. One JSON line for each batch:
//
//   samples_per_second, seconds   of a whole step with graphs, as a run sees it: inputs come from the host's memory, loss and norm are told
//   of_peak                       model FLOPs (nothing counted twice) in that time, over the rate of a large product measured in the same run
//   work_seconds, update_seconds  the same work with nothing that waits for the host: forward and backward back to back, and AdamW back to back
//   idle                          1 - (work_seconds + update_seconds) / seconds: what waits, launches and copies leave of the GPU unused
//   graph_gain                    seconds without graphs over seconds with
//   predicted_bytes, used_bytes   by the plan, and by what is missing of the GPU's memory once the step has run
//
// and, where the program has CUPTI, for one batch of each: `gaps`, the share of such a step, from its first copy or kernel to its last one, in which
// the GPU runs none.
//
//   bench_gpu_step [--smoke]
#include "gaps.hpp"
#include "timing.hpp"

#include "../../examples/train_clip/models.hpp"

#include <motet/model/model.hpp>
#include <motet/runtime/trainer.hpp>

#include <chrono>

namespace motet {

namespace {

// A device that can also tell how long the work of a step takes where nothing waits for the host.
class probed_device : public cuda::device {
 public:
  template <class Shape, class First, class Then>
  void run_step(Shape&& shape, First&& first, Then&& then, const cuda::draw_key& draws = {}) {
    if (times_ > 0) {
      const cudaStream_t stream = on().stream();
      watch_.start(stream);
      // Gradients become so many times larger, which clipping takes back.
      for (int k = 0; k < times_; ++k)
        cuda::device::run_step(
            shape, first, [](auto&, const auto&) {}, draws);
      watch_.stop(stream);
      found_ = watch_.seconds() / times_;
    }
    cuda::device::run_step(shape, first, then, draws);
  }
  void probe(int times) { times_ = times; }
  double found() const { return found_; }

 private:
  bench::stop_watch watch_;
  int times_ = 0;
  double found_ = 0;
};

// Pictures of noise and captions of full length.
struct noise {
  std::vector<float> pixels;
  std::vector<std::int32_t> ids;
  noise(const vit_config& picture, const text_config& caption, index samples)
      : pixels(static_cast<std::size_t>(samples * 3 * picture.image * picture.image)), ids(static_cast<std::size_t>(samples * caption.context)) {
    const random_stream draw(1, "bench");
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = draw.uniform(i) - 0.5f;
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(draw.below(i, static_cast<std::uint32_t>(caption.vocabulary)));
  }
};

template <vit_config Picture, text_config Caption>
void measure(const char* name, index samples, double peak, int turns) {
  using net = model<join<info_nce, module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>>;
  const noise data(Picture, Caption, samples);
  const typename net::batch batch{pictures{data.pixels.data(), samples}, tokens{data.ids.data(), {samples, Caption.context, nullptr}}};
  probed_device on;
  on.on();
  const auto pinned = on.pin(data.pixels.data(), data.pixels.size() * sizeof(float));
  std::size_t left = 0, before = 0, all = 0;
  cuda::check(cudaMemGetInfo(&before, &all), "cudaMemGetInfo");
  trainer_config config;
  config.batch = samples;
  trainer<net, probed_device, mixed_bf16> trains(on, config);
  const index predicted = trains.plan().total();
  if (static_cast<std::size_t>(predicted) > before) {
    bench::line("{\"step\": \"%s\", \"batch\": %td, \"skipped\": \"%td bytes are predicted, %zu are free\"}", name, samples, predicted, before);
    return;
  }
  trains.prepare();
  // As in a run, where the host waits for loss and norm of each step, and for the last update at the end.
  const auto step = [&](bool graphs, int steps = 1) {
    on.set_graphs(graphs);
    const auto from = std::chrono::steady_clock::now();
    for (int k = 0; k < steps; ++k) trains.step(batch, 1e-5);
    on.finish();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count() / steps;
  };
  for (int k = 0; k < 4; ++k) step(true);  // the third is recorded
  step(false);
  cuda::check(cudaMemGetInfo(&left, &all), "cudaMemGetInfo");
  std::vector<double> with, without, gain;
  for (int turn = 0; turn < turns; ++turn) {
    const double first = step(turn % 2 == 0, 3), second = step(turn % 2 != 0, 3);
    with.push_back(turn % 2 == 0 ? first : second);
    without.push_back(turn % 2 == 0 ? second : first);
    gain.push_back(without.back() / with.back());
  }
  std::vector<double> work;
  on.probe(4);
  for (int k = 0; k < std::max(turns / 4, 1); ++k) {
    step(true);
    work.push_back(on.found());
  }
  on.probe(0);
  const bool recorded = on.recorded() > 0;
  // The same passes over the same memory; a rate of zero leaves the weights.
  const auto update = bench::compare({{&on,
                                       [&](cuda::context& ctx, index) {
                                         adamw(ctx, trains.weights(), trains.gradients(), trains.first(), trains.second(), net::trainable_size,
                                               cuda::adamw_step{.rate = 0}, true);
                                       }}},
                                     std::max(turns / 2, 1));
  const double seconds = bench::median(with), rate = trains.flops(batch) / seconds, idle = 1 - (bench::median(work) + update.seconds[0]) / seconds;
  bench::line(
      "{\"step\": \"%s\", \"precision\": \"bf16\", \"batch\": %td, \"seconds\": %.6f, \"samples_per_second\": %.1f, \"tflops\": %.2f, \"of_peak\": "
      "%.4f, "
      "\"recorded\": %s, \"work_seconds\": %.6f, \"update_seconds\": %.6f, \"idle\": %.4f, \"seconds_without_graphs\": %.6f, "
      "\"graph_gain\": %.4f, \"predicted_bytes\": %td, \"used_bytes\": %zu}",
      name, samples, seconds, static_cast<double>(samples) / seconds, rate * 1e-12, rate / peak, recorded ? "true" : "false", bench::median(work),
      update.seconds[0], idle, bench::median(without), bench::median(gain), predicted, before - left);
  bench::tell("step %-6s batch %5td: %8.1f samples/s, %5.1f %% of peak, idle %.1f %%, graphs %.3fx, %.1f of %.1f GiB predicted", name, samples,
              static_cast<double>(samples) / seconds, 100 * rate / peak, 100 * idle, bench::median(gain),
              static_cast<double>(before - left) / (1 << 30), static_cast<double>(predicted) / (1 << 30));
}

template <vit_config Picture, text_config Caption>
void measure_gaps(const char* name, index samples) {
  using net = model<join<info_nce, module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>>;
  const noise data(Picture, Caption, samples);
  const typename net::batch batch{pictures{data.pixels.data(), samples}, tokens{data.ids.data(), {samples, Caption.context, nullptr}}};
  probed_device on;
  const auto pinned = on.pin(data.pixels.data(), data.pixels.size() * sizeof(float));
  trainer_config config;
  config.batch = samples;
  trainer<net, probed_device, mixed_bf16> trains(on, config);
  trains.prepare();
  const auto steps = [&](int count) {
    for (int k = 0; k < count; ++k) trains.step(batch, 1e-5);
    on.finish();
  };
  // The third is recorded.
  const double gaps = bench::share_of_gaps([&] { steps(4); }, [&] { steps(1); });
  bench::line("{\"step\": \"%s\", \"batch\": %td, \"recorded\": %s, \"gaps\": %.4f}", name, samples, on.recorded() > 0 ? "true" : "false", gaps);
  bench::tell("step %-6s batch %5td: %.2f %% of it without a kernel (goal 2)", name, samples, 100 * gaps);
}

}  // namespace

void measure(cuda::device& on, const bench::settings& how) {
  const double peak = on.measure_peak<bf16>(how.size(8192, 64), how.size(4096, 64), how.size(4096, 64));
  bench::line("{\"peak_tflops\": %.1f}", peak * 1e-12);
  bench::tell("peak of a bf16 product: %.0f TFLOP/s", peak * 1e-12);
  if (how.smoke) {
    constexpr vit_config picture{.image = 8, .patch = 4, .width = 32, .layers = 2, .heads = 2, .embedding = 16, .pre_norm = true};
    constexpr text_config caption{.vocabulary = 64, .context = 8, .width = 32, .layers = 2, .heads = 2, .embedding = 16};
    return measure<picture, caption>("smoke", 4, peak, 2);
  }
  using namespace train_clip;
  for (const index batch : {64, 128, 256, 512}) measure<l14_picture, l14_caption>("l14", batch, peak, 12);
  for (const index batch : {128, 256, 512, 1024}) measure<b16_picture, b16_caption>("b16", batch, peak, 12);
  if constexpr (bench::knows_gaps) {
    measure_gaps<l14_picture, l14_caption>("l14", 128);
    measure_gaps<b16_picture, b16_caption>("b16", 256);
  }
}

}  // namespace motet

int main(int count, char** words) {
  return motet::bench::on_gpu([&](motet::cuda::device& on) { motet::measure(on, {count, words}); });
}
