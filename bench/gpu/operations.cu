// SPDX-License-Identifier: Apache-2.0
// Operations that move memory, each beside a copy within the GPU, in turns: rows of ViT-L/14 (257 a picture,
// 1,024 wide) of a batch of 128. One JSON line for each; `of_copy` is what they move at least, over what the
// copy moves in their time. The goal is 0.85.
//
//   bench_gpu_operations [--smoke] [--turns N] [--only NAME]
#include "timing.hpp"

namespace motet {

void measure(cuda::device& on, const bench::settings& how) {
  const isize samples = how.size(128, 2), length = how.size(257, 5), rows = samples * length,
              width = how.size(1024, 64);
  const int turns = how.turns(15);
  const isize rotated = how.size(256 << 20, 4096);
  const bench::copied_bytes copies(on, how.size(isize{1} << 28, 4096));
  const sequences seq{samples, length, nullptr};
  const bench::rotating<float> streams(on, rows * width, 1, rotated), slopes(on, rows * width, 1, rotated),
      out(on, rows * width, 1, rotated), stats_memory(on, rows * 2, 1, 0);
  const bench::rotating<bf16> values(on, rows * width, 1, rotated), normed(on, rows * width, 1, rotated),
      rounded(on, rows * width, 1, rotated), wide(on, rows * width * 4, 1, rotated),
      wide_out(on, rows * width * 4, 1, rotated);
  const bench::rotating<float> gain(on, width, 1, 0), d_gain(on, width, 1, 0), d_bias(on, width, 1, 0);
  cuda::context dry;
  matrix<float> sums = norm_sums<float>(dry, rows, width);
  const bench::rotating<float> sums_memory(on, sums.rows * sums.width, 1, 0);
  sums.data = sums_memory[0];
  const auto of = []<class T>(const bench::rotating<T>& from, isize turn, isize count, isize columns) {
    return matrix<T>{from[turn], count, columns, columns};
  };
  std::vector<std::string> shown;
  double lowest = 1e9;
  const auto tell = [&](const char* name, double bytes, std::function<void(cuda::context&, isize)> run) {
    if (!how.wants(name)) return;
    const bench::timed found = bench::compare({copies.on(on), {&on, std::move(run)}}, turns);
    const double rate = bytes / found.seconds[1], copy_bytes = 2 * static_cast<double>(copies.count);
    // The median of the ratios within turns.
    const double share = bytes / copy_bytes / found.ratios[1];
    lowest = std::min(lowest, share);
    bench::line(
        "{\"operation\": \"%s\", \"milliseconds\": %.4f, \"gb_per_second\": %.0f, \"copy_gb_per_second\": "
        "%.0f, \"of_copy\": %.3f}",
        name, found.seconds[1] * 1e3, rate * 1e-9, copy_bytes / found.seconds[0] * 1e-9, share);
    char text[128];
    std::snprintf(text, sizeof text, "%-36s %8.3f ms %6.0f GB/s  %.2f of a copy", name,
                  found.seconds[1] * 1e3, rate * 1e-9, share);
    shown.emplace_back(text);
  };
  const double element = static_cast<double>(rows * width);
  const auto stats = [&] { return matrix<float>{stats_memory[0], rows, 2, 2}; };
  const auto stream = [&](isize t) { return matrix<const float>(of(streams, t, rows, width)); };
  const auto slope = [&](isize t) { return matrix<const float>(of(slopes, t, rows, width)); };
  const auto value = [&](isize t) { return of(values, t, rows, width); };

  tell("layer norm forward, float to bf16", element * 6, [&](cuda::context& ctx, isize t) {
    norm_forward(ctx, seq, norm_kind::layer, stream(t), gain[0], gain[0], 1e-5, value(t), stats());
  });
  // As a block of a tower asks for it: with what forward made, dx rounded, and gradients of gain and bias.
  tell("layer norm backward, all of it", element * 18, [&](cuda::context& ctx, isize t) {
    const norm_also<bf16, float> also{of(normed, t, rows, width), gain[0], of(rounded, t, rows, width), sums};
    norm_backward_input(ctx, seq, norm_kind::layer, stream(t), gain[0], matrix<const float>(stats()),
                        matrix<const bf16>(value(t)), slope(t), of(out, t, rows, width), also);
    norm_backward_weight(ctx, norm_kind::layer, stream(t), matrix<const float>(stats()),
                         matrix<const bf16>(value(t)), sums, d_gain[0], d_bias[0]);
  });
  tell("gelu forward, bf16", element * 4 * 4, [&](cuda::context& ctx, isize t) {
    activation_forward(ctx, seq, activation::gelu, matrix<const bf16>(of(wide, t, rows, 4 * width)),
                       of(wide_out, t, rows, 4 * width));
  });
  tell("swiglu forward, bf16", element * 2 * 6, [&](cuda::context& ctx, isize t) {
    swiglu_forward(ctx, seq, matrix<const bf16>(of(wide, t, rows, 4 * width)),
                   of(wide_out, t, rows, 2 * width));
  });
  tell("add, float", element * 12,
       [&](cuda::context& ctx, isize t) { add(ctx, seq, stream(t), slope(t), of(out, t, rows, width)); });
  tell("cast, float to bf16", element * 6,
       [&](cuda::context& ctx, isize t) { copy(ctx, seq, stream(t), value(t)); });
  tell("rotary, bf16", element * 4,
       [&](cuda::context& ctx, isize t) { rotary(ctx, seq, how.size(64, 16), 10000.0, 1, value(t)); });
  tell("normalize forward", element * 8, [&](cuda::context& ctx, isize t) {
    normalize_forward(ctx, seq, stream(t), of(out, t, rows, width),
                      matrix<float>{stats_memory[0], rows, 1, 1});
  });
  {
    // A captions' vocabulary: the loss of rows over 32,768 classes, its gradient in place.
    const isize tokens = how.size(8192, 8), classes = how.size(32768, 64);
    const bench::rotating<bf16> logits(on, tokens * classes, 1, 0);
    std::vector<std::int32_t> host(static_cast<std::size_t>(tokens));
    for (isize i = 0; i < tokens; ++i)
      host[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * 7919 % classes);
    const auto targets = on.take<std::int32_t>("targets", tokens);
    on.run([&](cuda::context& ctx) {
      upload(ctx, static_cast<const std::int32_t*>(host.data()), targets.data(), tokens);
    });
    cross_entropy_shape shape;
    shape.share = 1 / static_cast<double>(tokens);
    tell("cross-entropy in place, bf16", static_cast<double>(tokens * classes) * 6,
         [&](cuda::context& ctx, isize) {
           const matrix<bf16> all{logits[0], tokens, classes, classes};
           cross_entropy_loss(ctx, shape, matrix<const bf16>(all), targets.data(), all);
         });
  }
  const isize parameters = how.size(isize{1} << 27, 4096);
  const bench::rotating<float> weights(on, parameters, 1, 0), gradients(on, parameters, 1, 0),
      first(on, parameters, 0, 0), second(on, parameters, 0, 0);
  const double all = static_cast<double>(parameters);
  tell("adamw, gradients cleared", all * 32, [&](cuda::context& ctx, isize) {
    adamw(ctx, weights[0], gradients[0], first[0], second[0], parameters,
          cuda::update_step{.rate = 1e-4, .decay = 0.1}, true);
  });
  {
    // As of a model: many tensors, every other one small and without decay, and the copies that products in
    // bf16 take.
    std::vector<update_run<float>> runs;
    for (isize at = 0, count = 0; at < parameters; at += count) {
      count = std::min(parameters - at, runs.size() % 2 == 0 ? isize{1} << 20 : isize{1024});
      runs.push_back(
          {weights[0] + at, gradients[0] + at, first[0] + at, second[0] + at, count, runs.size() % 2 == 0});
    }
    const cuda::update_list<float> list(std::move(runs));
    on.keep_weights<bf16>(weights[0], parameters);
    tell("adamw, a list of runs, with copies in bf16", all * 34,
         [&](cuda::context& ctx, isize) { adamw(ctx, list, cuda::update_step{.rate = 1e-4, .decay = 0.1}); });
    on.drop_weights(static_cast<const float*>(weights[0]));
  }
  tell("sum of squares", all * 4, [&](cuda::context& ctx, isize) {
    sum_of_squares(ctx, static_cast<const float*>(gradients[0]), parameters);
  });
  if (shown.empty()) return;
  bench::tell("operations that move memory: lowest %.2f of a copy (goal 0.85)", lowest);
  for (const std::string& each : shown) bench::tell("  %s", each.c_str());
}

}  // namespace motet

int main(int count, char** words) {
  motet::bench::settings how("bench_gpu_operations",
                             "operations that move memory, each beside a copy within the GPU");
  how.offer_turns();
  how.offer_names();
  return how.run(count, words, [&] {
    return motet::bench::on_gpu([&](motet::cuda::device& on) { motet::measure(on, how); });
  });
}
