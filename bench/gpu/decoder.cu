// SPDX-License-Identifier: Apache-2.0
// A stack of decoder blocks with about a billion weights: 20 blocks of width 2,048, 16 heads of 128, causal,
// rotary positions, layer norms, GELU, 2,048 rows a sample; forward, backward from a given gradient of the
// output, clipping and AdamW, in bf16 with float weights and float residuals. Its peer is
// bench/peers/decoder_torch.py. One JSON line for each batch; FLOPs count nothing twice and a causal mask
// half.
//
//   bench_gpu_decoder [--smoke] [--turns N] [--batch N]
//   bench_gpu_decoder --paced [--batch N]
//       for bench/peers/alternate.py: a step for each line of standard input
#include "timing.hpp"

#include <motet/nn/towers/text.hpp>
#include <motet/runtime/state/initialise.hpp>
#include <motet/runtime/state/optimizer.hpp>

#include <chrono>

namespace motet {

namespace {

struct stack_config {
  isize width, heads, layers;
};
constexpr stack_config billion{2048, 16, 20}, little{32, 2, 2};

template <stack_config Shape>
class decoder {
 public:
  using numbers = mixed_bf16;
  static constexpr text_config tower_of{.vocabulary = 64,
                                        .context = 4096,
                                        .width = Shape.width,
                                        .layers = Shape.layers,
                                        .heads = Shape.heads,
                                        .embedding = 64,
                                        .pool = pool_kind::mean,
                                        .rotary = 10000.0f};
  using net = typename text_tower<tower_of>::body;  // the blocks alone
  static constexpr isize width = Shape.width, size = net::parameter_size;

  decoder(cuda::device& on, isize samples, isize length)
      : on_(on),
        seq_{samples, length, nullptr},
        parameters_(layer::parameters_of<net>()),
        runs_(update_runs(parameters_, size)) {
    needs_ = on.dry_run([&](cuda::context& ctx) { update(ctx, gradients_of(ctx)); });
  }
  decoder(const decoder&) = delete;
  decoder& operator=(const decoder&) = delete;
  ~decoder() {
    on_.finish();
    on_.drop_weights(weights_.data());
  }

  isize rows() const { return seq_.rows(); }
  isize predicted() const {
    const isize numbers_of_rows = 2 * rows() * width;
    return needs_.memory + needs_.scratch + (4 * size + numbers_of_rows) * static_cast<isize>(sizeof(float)) +
           on_.weight_copy_bytes<bf16, float>(size);
  }
  // Products and attention, forward and backward.
  double flops() const {
    const double all = static_cast<double>(rows()), squares = all * static_cast<double>(seq_.length) / 2;
    return static_cast<double>(Shape.layers) *
           (6 * all * 12 * static_cast<double>(width * width) + 12 * squares * static_cast<double>(width));
  }
  void prepare() {
    on_.prepare(needs_);
    weights_ = on_.take<float>("weights", size);
    gradients_ = on_.take<float>("gradients", size);
    first_ = on_.take<float>("first moments", size);
    second_ = on_.take<float>("second moments", size);
    x_ = on_.take<float>("inputs", rows() * width);
    dy_ = on_.take<float>("gradients of the outputs", rows() * width);
    on_.keep_weights<bf16>(weights_.data(), size);
    std::vector<update_run<float>> moved;
    for (const parameter_run& own : runs_)
      moved.push_back({weights_.data() + own.offset, gradients_.data() + own.offset,
                       first_.data() + own.offset, second_.data() + own.offset, own.size, own.decay});
    moved_ = cuda::update_list<float>(std::move(moved));
    on_.run([&](cuda::context& ctx) { moved_.prepare(ctx); });
    on_.run([&](cuda::context& ctx) {
      initialise(ctx, parameters_, 1, weights_.data(), size);
      weights_changed(ctx, weights_.data(), size);
      for (float* each : {gradients_.data(), first_.data(), second_.data()}) zero(ctx, each, size);
      cuda::launch(ctx.stream(), {cuda::blocks_for(x_.size(), 1024), 256, 0},
                   bench::fill_randomly<float>{x_.data(), x_.size(), 3, 1.0f});
      // As small as the gradient of a mean is.
      cuda::launch(ctx.stream(), {cuda::blocks_for(dy_.size(), 1024), 256, 0},
                   bench::fill_randomly<float>{dy_.data(), dy_.size(), 5, 1.0f / static_cast<float>(rows())});
    });
    on_.finish();
  }
  // Seconds of a step; waits for its end.
  double step() {
    using clock = std::chrono::steady_clock;
    const auto from = clock::now();
    on_.run([](cuda::context& ctx) { refresh_weights(ctx); });  // not recorded: it does what is needed now
    on_.run(
        [&](cuda::context& ctx) {
          cuda::real found;
          run_recorded(
              ctx, [&](std::vector<isize>& shape) { shape.push_back(seq_.samples); },
              [&](cuda::context& at) { found = gradients_of(at); }, found);
          update(ctx, found);
        },
        {1, static_cast<std::uint64_t>(steps_), 0});
    on_.finish();
    return std::chrono::duration<double>(clock::now() - from).count();
  }

 private:
  cuda::real gradients_of(cuda::context& ctx) {
    const isize mark = ctx.memory.mark();
    typename net::template saved<numbers> kept;
    net::template reserve<numbers>(ctx, seq_, kept);
    const motet::weights<numbers> w{weights_.data()};
    const view<const float, width> x(x_.data(), rows()), dy(dy_.data(), rows());
    const auto y = ctx.memory.take_rows<float, width>(rows());
    net::forward(ctx, w, seq_, x, y, kept);
    const auto dx = ctx.memory.take_rows<float, width>(rows());
    net::backward(ctx, w, seq_, x, dy, dx, kept, motet::gradients<numbers>{gradients_.data()});
    release(ctx, mark);
    return sum_of_squares(ctx, static_cast<const float*>(gradients_.data()), size);
  }
  void update(cuda::context& ctx, const cuda::real& squares) {
    const optimizer_settings settings;
    ++steps_;
    adamw(ctx, moved_, update_step_for(settings, steps_, 1e-5, 1, true), cuda::real{}, squares,
          settings.clip);
  }

  cuda::device& on_;
  sequences seq_;
  std::vector<parameter> parameters_;
  std::vector<parameter_run> runs_;
  cuda::update_list<float> moved_;
  cuda::step_forecast needs_;
  cuda::buffer<float> weights_, gradients_, first_, second_, x_, dy_;
  isize steps_ = 0;
};

std::size_t free_bytes() {
  std::size_t left = 0, all = 0;
  cuda::check(cudaMemGetInfo(&left, &all), "cudaMemGetInfo");
  return left;
}

template <stack_config Shape>
void measure(isize samples, isize length, double peak, int turns) {
  cuda::device on;
  on.on();
  const std::size_t before = free_bytes();
  decoder<Shape> trains(on, samples, length);
  if (static_cast<std::size_t>(trains.predicted()) > before) {
    bench::line("{\"decoder\": \"skipped\", \"batch\": %td, \"predicted_bytes\": %td, \"free_bytes\": %zu}",
                samples, trains.predicted(), before);
    return;
  }
  trains.prepare();
  for (int k = 0; k < 4; ++k) trains.step();
  const std::size_t used = before - free_bytes();
  std::vector<double> times;
  for (int k = 0; k < turns; ++k) times.push_back(trains.step());
  const double seconds = bench::median(times), rate = trains.flops() / seconds,
               tokens = static_cast<double>(trains.rows()) / seconds;
  bench::line(
      "{\"decoder\": \"causal, rotary\", \"precision\": \"bf16\", \"weights\": %td, \"batch\": %td, "
      "\"length\": %td, \"seconds\": %.6f, "
      "\"tokens_per_second\": %.0f, \"tflops\": %.2f, \"of_peak\": %.4f, \"predicted_bytes\": %td, "
      "\"used_bytes\": %zu}",
      trains.size, samples, length, seconds, tokens, rate * 1e-12, rate / peak, trains.predicted(), used);
  bench::tell("decoder %.2fB batch %3td x %td: %9.0f tokens/s, %.1f TFLOP/s, %.1f %% of peak",
              static_cast<double>(trains.size) * 1e-9, samples, length, tokens, rate * 1e-12,
              100 * rate / peak);
}

// One step for each line of standard input, for a runner that alternates two programs.
template <stack_config Shape>
void pace(cuda::device& on, isize samples, isize length) {
  decoder<Shape> trains(on, samples, length);
  trains.prepare();
  for (int k = 0; k < 4; ++k) trains.step();
  const double seconds = bench::pace([&] { return trains.step(); });
  bench::line(
      "{\"program\": \"motet\", \"model\": \"decoder\", \"precision\": \"bf16\", \"batch\": %td, "
      "\"seconds\": %.6f, \"samples_per_second\": %.2f, "
      "\"tflops\": "
      "%.2f, \"peak_bytes\": %td, \"idle_bytes\": 0}",
      samples, seconds, seconds > 0 ? static_cast<double>(samples) / seconds : 0,
      seconds > 0 ? trains.flops() / seconds * 1e-12 : 0, trains.predicted());
}

}  // namespace

void measure(cuda::device& on, const bench::settings& how, isize only_batch) {
  const double peak = on.measure_peak<bf16>(how.size(8192, 64), how.size(4096, 64), how.size(4096, 64));
  bench::line("{\"peak_tflops\": %.1f}", peak * 1e-12);
  if (how.smoke) return measure<little>(std::max<isize>(only_batch, 1), 8, peak, how.turns(12));
  if (only_batch > 0) return measure<billion>(only_batch, 2048, peak, how.turns(12));
  for (const isize batch : {2, 4, 8, 16}) measure<billion>(batch, 2048, peak, how.turns(12));
}

}  // namespace motet

int main(int count, char** words) {
  motet::isize batch = 0;
  std::string model = "decoder";
  motet::bench::settings how("bench_gpu_decoder",
                             "a training step of a stack of decoder blocks with a billion weights");
  how.offer_turns();
  how.offer_pace();
  how.choice("--model", model, {"decoder"}, "the one model");
  how.count("--batch", batch, 0, "samples a step; 0: several in turn, and 4 with --paced");
  return how.run(count, words, [&] {
    return motet::bench::on_gpu([&](motet::cuda::device& on) {
      const motet::isize samples = batch > 0 ? batch : 4;
      if (!how.paced) motet::measure(on, how, batch);
      else if (how.smoke) motet::pace<motet::little>(on, samples, 8);
      else motet::pace<motet::billion>(on, samples, 2048);
    });
  });
}
