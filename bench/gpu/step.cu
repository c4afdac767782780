// SPDX-License-Identifier: Apache-2.0
// A contrastive training step of ViT-L/14 and of ViT-B/16, each with CLIP's text tower, in bf16, for several
// batches: with its work recorded as a graph and given kernel by kernel, in turns. One JSON line for each
// batch:
//
//   samples_per_second, seconds
//       of a whole step with graphs, as a run sees it: inputs come from the host's memory, loss and norm are
//       told
//   of_peak
//       model FLOPs (nothing counted twice) in that time, over the rate of a large product measured in the
//       same run
//   graph_gain
//       seconds without graphs over seconds with
//   predicted_bytes, used_bytes
//       by the plan, and by what is missing of the GPU's memory once the step has run
//
// and, where CUPTI is there, for one batch of each: `gaps`, the share of such a step, from its first copy or
// kernel to its last one, in which the GPU runs none; with --kernels also a line for each kernel, copy and
// fill: its count, milliseconds and share of all that the step ran.
//
//   bench_gpu_step [--smoke] [--turns N] [--model l14|b16] [--batch N] [--streams fp32|bf16] [--keep-outputs]
//                  [--kernels]
//   bench_gpu_step --roofline [...]
//       what a step takes at least, without a GPU: docs/backend/roofline.md
//   bench_gpu_step --paced --model l14|b16 --batch N
//       for bench/peers/alternate.py: a step for each line of standard input
#include "kernel_table.hpp"
#include "timing.hpp"
#if !defined(MOTET_BENCH_SMOKE)
#include "roofline_program.hpp"
#endif

#include "../../examples/train_clip/models.hpp"

#include <motet/front/cuda_ranks.hpp>
#include <motet/model/model.hpp>

#include <chrono>

namespace motet {

namespace {

// Pictures of noise and captions of full length.
struct noise {
  std::vector<float> pixels;
  std::vector<std::int32_t> ids;
  noise(const vit_config& picture, const text_config& caption, isize samples)
      : pixels(static_cast<std::size_t>(samples * 3 * picture.image * picture.image)),
        ids(static_cast<std::size_t>(samples * caption.context)) {
    const random_stream draw(1, "bench");
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = draw.uniform(i) - 0.5f;
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<std::int32_t>(draw.below(i, static_cast<std::uint32_t>(caption.vocabulary)));
  }
};

// The command line.
struct step_settings : bench::settings {
  std::string model = "all", streams = "fp32";
  isize batch = 0;
  bool kernels = false, roofline = false, keep_outputs = false;
  step_settings()
      : bench::settings(
            "bench_gpu_step",
            "a contrastive training step of ViT-L/14 and of ViT-B/16 with CLIP's text tower, in bf16") {
    offer_turns();
    offer_pace();
    choice("--model", model, {"all", "l14", "b16"}, "whose step");
    count("--batch", batch, 0, "samples a step; 0: several in turn");
    choice("--streams", streams, {"fp32", "bf16"},
           "type of rows between blocks: of mixed_bf16 or of bf16_streams");
    flag("--keep-outputs", keep_outputs, "keep what norms and activations made, instead of making it again");
    flag("--kernels", kernels, "also a table of what one step runs on the GPU");
    flag("--roofline", roofline,
         "instead what a step takes at least, without a GPU; has options of its own, which --roofline --help "
         "lists");
  }
  // One step is asked for, so that it may be traced right after it was measured.
  bool one_alone() const { return batch > 0 && model != "all"; }
};

// Training of one model with one batch.
template <vit_config Picture, text_config Caption, class Numbers>
class training {
 public:
  using net = model<join<info_nce, module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>>;

  training(const char* name, isize samples, bool keep_outputs)
      : name_(name),
        streams_(std::is_same_v<Numbers, bf16_streams> ? "bf16" : "fp32"),
        keeps_(keep_outputs),
        samples_(samples),
        data_(Picture, Caption, samples),
        batch_{pictures{data_.pixels.data(), samples},
               tokens{data_.ids.data(), {samples, Caption.context, nullptr}}},
        free_(free_bytes()),
        trains_(alone(), options_for(samples, keep_outputs)),
        pinned_(trains_.device().pin(data_.pixels.data(), data_.pixels.size() * sizeof(float))) {}

  // The result is false, with a line that says so, where the GPU has too little memory.
  bool prepare() {
    if (static_cast<std::size_t>(predicted()) > free_) {
      bench::line(
          "{\"step\": \"%s\", \"batch\": %td, \"skipped\": \"%td bytes are predicted, %zu are free\"}", name_,
          samples_, predicted(), free_);
      return false;
    }
    trains_.prepare();
    return true;
  }

  void measure(double peak, int turns) {
    // The host waits for loss and norm of each step, and for the last update at the end, as in a run.
    const auto step = [&](bool graphs, int steps = 1) {
      trains_.device().set_graphs(graphs);
      const auto from = std::chrono::steady_clock::now();
      take(steps);
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count() / steps;
    };
    for (int k = 0; k < 4; ++k) step(true);  // the third is recorded
    step(false);
    const std::size_t left = free_bytes();
    std::vector<double> with, without, gain;
    for (int turn = 0; turn < turns; ++turn) {
      const double first = step(turn % 2 == 0, 3), second = step(turn % 2 != 0, 3);
      with.push_back(turn % 2 == 0 ? first : second);
      without.push_back(turn % 2 == 0 ? second : first);
      gain.push_back(without.back() / with.back());
    }
    const bool recorded = trains_.device().recorded() > 0;
    const double seconds = bench::median(with), rate = trains_.flops(batch_) / seconds;
    bench::line(
        "{\"step\": \"%s\", \"precision\": \"bf16\", \"streams\": \"%s\", \"keeps_outputs\": %s, \"batch\": "
        "%td, "
        "\"seconds\": %.6f, "
        "\"samples_per_second\": %.1f, \"tflops\": %.2f, \"of_peak\": "
        "%.4f, "
        "\"recorded\": %s, \"seconds_without_graphs\": %.6f, \"graph_gain\": %.4f, \"predicted_bytes\": %td, "
        "\"used_bytes\": %zu}",
        name_, streams_, keeps_ ? "true" : "false", samples_, seconds,
        static_cast<double>(samples_) / seconds, rate * 1e-12, rate / peak, recorded ? "true" : "false",
        bench::median(without), bench::median(gain), predicted(), free_ - left);
    bench::tell(
        "step %-6s batch %5td, streams %s%s: %8.1f samples/s, %5.1f %% of peak, graphs %.3fx, %.1f of %.1f "
        "GiB "
        "predicted",
        name_, samples_, streams_, keeps_ ? ", outputs kept" : "", static_cast<double>(samples_) / seconds,
        100 * rate / peak, bench::median(gain), static_cast<double>(free_ - left) / (1 << 30),
        static_cast<double>(predicted()) / (1 << 30));
  }

  // A runner that alternates two programs calls this.
  void pace() {
    const auto step = [&] {
      const auto from = std::chrono::steady_clock::now();
      take(1);
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    };
    for (int k = 0; k < 4; ++k) step();
    const double seconds = bench::pace(step);
    bench::line(
        "{\"program\": \"motet\", \"model\": \"%s\", \"precision\": \"bf16\", \"batch\": %td, \"seconds\": "
        "%.6f, \"samples_per_second\": %.2f, "
        "\"tflops\": %.2f, \"peak_bytes\": %td, \"idle_bytes\": 0}",
        name_, samples_, seconds, seconds > 0 ? static_cast<double>(samples_) / seconds : 0,
        seconds > 0 ? trains_.flops(batch_) / seconds * 1e-12 : 0, predicted());
  }

  // One recorded step, piece by piece. Where CUPTI was once at work, later launches may be slower, so this
  // comes last.
  void trace(bool kernels) {
    const std::string why = bench::activity::all().begin();
    if (!why.empty()) {
      bench::line("{\"step\": \"%s\", \"batch\": %td, \"not_traced\": \"%s\"}", name_, samples_, why.c_str());
      bench::tell("step %-6s batch %5td: no table of kernels: %s", name_, samples_, why.c_str());
      return;
    }
    // Graphs that were made before are not seen kernel by kernel; the third step is recorded anew.
    trains_.device().set_graphs(true);
    trains_.device().on().template part<cuda::recorder>().forget();
    take(4);
    bench::activity::all().flush();
    take(1);
    const auto all = bench::activity::all().end();
    const double gaps = all.empty() ? -1 : bench::uncovered(all);
    bench::line("{\"step\": \"%s\", \"batch\": %td, \"recorded\": %s, \"gaps\": %.4f}", name_, samples_,
                trains_.device().recorded() > 0 ? "true" : "false", gaps);
    bench::tell("step %-6s batch %5td: %.2f %% of it without a kernel (goal 2)", name_, samples_, 100 * gaps);
    if (!kernels) return;
    const auto rows = bench::by_kernel(all);
    double whole = 0;
    for (const auto& row : rows) whole += row.seconds;
    for (const auto& row : rows) {
      const std::string name = bench::readable_name(row.compiled);
      bench::line(
          "{\"kernel\": \"%s\", \"step\": \"%s\", \"batch\": %td, \"count\": %ld, \"milliseconds\": %.4f, "
          "\"share\": %.4f, \"compiled\": \"%s\"}",
          name.c_str(), name_, samples_, row.count, 1e3 * row.seconds, row.seconds / whole,
          row.compiled.c_str());
    }
    for (std::size_t k = 0; k < std::min<std::size_t>(rows.size(), 12); ++k)
      bench::tell("  %5.1f %% %9.3f ms %5ld x  %.150s", 100 * rows[k].seconds / whole, 1e3 * rows[k].seconds,
                  rows[k].count, bench::readable_name(rows[k].compiled).c_str());
  }

 private:
  static std::size_t free_bytes() {
    std::size_t left = 0, all = 0;
    cuda::check(cudaMemGetInfo(&left, &all), "cudaMemGetInfo");
    return left;
  }
  static const launched_world& alone() {
    static const char* const words[] = {"bench_gpu_step"};
    static const launched_world world = launch(1, words);
    return world;
  }
  static trainer_options options_for(isize samples, bool keep_outputs) {
    trainer_options how;
    how.batch = samples;
    how.keep_outputs = keep_outputs;
    how.ahead = true;
    return how;
  }
  isize predicted() const { return trains_.memory().front().total(); }
  void take(int steps) {
    for (int k = 0; k < steps; ++k) {
      trains_.expect(batch_);
      trains_.step(batch_, 1e-5);
    }
    trains_.device().finish();
  }

  const char *name_, *streams_;
  bool keeps_;
  isize samples_;
  noise data_;
  typename net::batch batch_;
  std::size_t free_;
  trainer<net, Numbers, cuda::device> trains_;
  std::shared_ptr<void> pinned_;
};

template <vit_config Picture, text_config Caption, class Numbers = mixed_bf16>
void measure_model(const char* name, const step_settings& how, double peak, const std::vector<isize>& usual) {
  if (how.paced) {
    training<Picture, Caption, Numbers> of(name, how.batch > 0 ? how.batch : usual.front(), how.keep_outputs);
    if (of.prepare()) of.pace();
    return;
  }
  for (const isize batch : how.batch > 0 ? std::vector<isize>{how.batch} : usual) {
    training<Picture, Caption, Numbers> of(name, batch, how.keep_outputs);
    if (!of.prepare()) continue;
    of.measure(peak, how.turns(12));
    // Its weights are made once then, which takes long.
    if (how.one_alone()) of.trace(how.kernels);
  }
}
template <vit_config Picture, text_config Caption, class Numbers = mixed_bf16>
void trace_model(const char* name, const step_settings& how, isize usual) {
  training<Picture, Caption, Numbers> of(name, how.batch > 0 ? how.batch : usual, how.keep_outputs);
  if (of.prepare()) of.trace(how.kernels);
}

#if !defined(MOTET_BENCH_SMOKE)
template <class Numbers>
void measure_large(const step_settings& how, double peak) {
  using namespace train_clip;
  const bool l14 = how.model != "b16", b16 = how.model != "l14";
  if (l14) measure_model<l14_picture, l14_caption, Numbers>("l14", how, peak, {64, 128, 256, 512});
  if (b16) measure_model<b16_picture, b16_caption, Numbers>("b16", how, peak, {128, 256, 512, 1024});
  if (how.one_alone() || how.paced) return;
  if (l14) trace_model<l14_picture, l14_caption, Numbers>("l14", how, 128);
  if (b16) trace_model<b16_picture, b16_caption, Numbers>("b16", how, 256);
}
#endif

}  // namespace

void measure(cuda::device& on, const step_settings& how) {
  const double peak = on.measure_peak<bf16>(how.size(8192, 64), how.size(4096, 64), how.size(4096, 64));
  bench::line("{\"peak_tflops\": %.1f}", peak * 1e-12);
  bench::tell("peak of a bf16 product: %.0f TFLOP/s", peak * 1e-12);
  if (how.smoke) {
    constexpr vit_config picture{
        .image = 8, .patch = 4, .width = 32, .layers = 2, .heads = 2, .embedding = 16, .pre_norm = true};
    constexpr text_config caption{
        .vocabulary = 64, .context = 8, .width = 32, .layers = 2, .heads = 2, .embedding = 16};
    measure_model<picture, caption>("smoke", how, peak, {4});
    if (!how.one_alone() && !how.paced) trace_model<picture, caption>("smoke", how, 4);
    return;
  }
#if defined(MOTET_BENCH_SMOKE)
  bench::line("{\"skipped\": \"this program was built for --smoke alone\"}");
#else
  if (how.streams == "fp32") measure_large<mixed_bf16>(how, peak);
  else measure_large<bf16_streams>(how, peak);
#endif
}

}  // namespace motet

int main(int count, char** words) {
#if !defined(MOTET_BENCH_SMOKE)
  if (std::any_of(words, words + count, [](std::string_view word) { return word == "--roofline"; }))
    return motet::bench::print_roofline(count, words, "bench_gpu_step");
#endif
  motet::step_settings how;
  return how.run(count, words, [&] {
    if (how.paced && how.model == "all")
      motet::fail(motet::option_missing, "--model, whose steps are to be paced");
    return motet::bench::on_gpu([&](motet::cuda::device& on) { motet::measure(on, how); });
  });
}
