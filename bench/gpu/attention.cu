// SPDX-License-Identifier: Apache-2.0
// Attention of ViT-L/14 (257 rows, 16 heads of 64) and of a decoder (2,048 rows, causal, 16 heads of 128),
// bf16: our own kernels and, where the program has it, cuDNN, in turns. One JSON line for each; FLOPs are
// those of the products (a causal mask counts half): 4 for each pair of rows and column forward, 10 backward.
// `of_peak`: over the rate of a large product, measured in the same run. `ratio` above 1 says that ours is
// faster.
//
//   bench_gpu_attention [--smoke] [--turns N] [--only NAME] [--nondeterministic]
//       the last: cuDNN may add gradients of queries up in any order
#include "timing.hpp"

namespace motet {

void measure(cuda::device& on, const bench::settings& how, bool deterministic) {
  on.on().part<cuda::attention_settings>().deterministic = deterministic;
  const double peak = on.measure_peak<bf16>(how.size(8192, 64), how.size(4096, 64), how.size(4096, 64));
  bench::line("{\"peak_tflops\": %.1f}", peak * 1e-12);
  // Each way has a device of its own: it is chosen before the first step.
  cuda::device own;
  own.on().part<cuda::attention_settings>().library = false;
  struct shape {
    const char* name;
    isize samples, length, heads, width;
    mask_kind mask;
  };
  const std::vector<shape> shapes = {
      {"ViT-L/14", how.size(128, 1), how.size(257, 9), how.size(16, 1), 64, mask_kind::full},
      {"decoder", how.size(8, 1), how.size(2048, 17), how.size(16, 1), 128, mask_kind::causal}};
  for (const shape& of : shapes) {
    const isize rows = of.samples * of.length, width = of.heads * of.width,
                rotated = how.size(256 << 20, 4096);
    const sequences seq{of.samples, of.length, nullptr};
    const bench::rotating<bf16> qkv(on, rows * width * 3, 1, rotated), y(on, rows * width, 1, rotated),
        dy(on, rows * width, 1, rotated), d_qkv(on, rows * width * 3, 1, rotated);
    const bench::rotating<float> lse(on, rows * of.heads, 1, rotated);
    attention_shape shape_of;
    shape_of.heads = shape_of.kv_heads = of.heads;
    shape_of.head_width = of.width;
    shape_of.mask = of.mask;
    const auto part = [&](bf16* at, isize which) {
      return matrix<bf16>{at + which * width, rows, width, 3 * width};
    };
    const auto read = [&](isize t, isize which) { return matrix<const bf16>(part(qkv[t], which)); };
    const auto whole = [&](bf16* at) { return matrix<bf16>{at, rows, width, width}; };
    const auto stats = [&](isize t) { return matrix<float>{lse[t], rows, of.heads, of.heads}; };
    const double pairs = static_cast<double>(of.samples) * static_cast<double>(of.length) *
                         static_cast<double>(of.length) * static_cast<double>(width) *
                         (of.mask == mask_kind::causal ? 0.5 : 1.0);
    const auto forward = [&](cuda::context& ctx, isize t) {
      attention_forward(ctx, seq, seq, shape_of, read(t, 0), read(t, 1), read(t, 2), whole(y[t]), stats(t));
    };
    const auto backward = [&](cuda::context& ctx, isize t) {
      attention_backward(ctx, seq, seq, shape_of, read(t, 0), read(t, 1), read(t, 2),
                         matrix<const bf16>(whole(y[t])), matrix<const float>(stats(t)),
                         matrix<const bf16>(whole(dy[t])), part(d_qkv[t], 0), part(d_qkv[t], 1),
                         part(d_qkv[t], 2));
    };
    const auto name = [&](const char* what) { return std::string(of.name) + ", " + what; };
    // Both are asked, as each that is wanted counts.
    if (const bool forth = how.wants(name("forward")), back = how.wants(name("backward")); !forth && !back)
      continue;
    // Backward reads what forward made, of every copy.
    own.prepare(own.dry_run([&](cuda::context& ctx) { forward(ctx, 0); }));
    own.run([&](cuda::context& ctx) {
      for (isize t = 0; t < 32; ++t) forward(ctx, t);
    });
    own.finish();
    const auto tell = [&](const char* what, double flops,
                          const std::function<void(cuda::context&, isize)>& run) {
      if (!how.wants(name(what))) return;
      std::vector<bench::contender> all;
      if (MOTET_CUDNN_ATTENTION != 0) all.push_back({&on, run});
      all.push_back({&own, run});
      const bench::timed found = bench::compare(all, how.turns(15));
      for (std::size_t k = 0; k < all.size(); ++k) {
        const bool library = all[k].on == &on;
        bench::line(
            "{\"attention\": \"%s, %s\", \"kernels\": \"%s\", \"deterministic\": %s, \"milliseconds\": %.4f, "
            "\"tflops\": %.1f, \"of_peak\": %.3f, "
            "\"ratio\": %.3f}",
            of.name, what, library ? "cuDNN" : "own", deterministic || !library ? "true" : "false",
            found.seconds[k] * 1e3, flops / found.seconds[k] * 1e-12, flops / found.seconds[k] / peak,
            library ? 1.0 : 1 / found.ratios[k]);
      }
      const std::string peer =
          all.size() > 1
              ? "cuDNN " + std::to_string(static_cast<int>(flops / found.seconds[0] * 1e-12)) + " TFLOP/s"
              : "no cuDNN";
      bench::tell("attention %-10s %-9s own %4.0f TFLOP/s, %s", of.name, what,
                  flops / found.seconds.back() * 1e-12, peer.c_str());
    };
    tell("forward", 4 * pairs, forward);
    tell("backward", 10 * pairs, backward);
  }
}

}  // namespace motet

int main(int count, char** words) {
  bool nondeterministic = false;
  motet::bench::settings how("bench_gpu_attention", "attention by our own kernels and by cuDNN, in turns");
  how.offer_turns();
  how.offer_names();
  how.flag("--nondeterministic", nondeterministic, "cuDNN may add gradients of queries up in any order");
  return how.run(count, words, [&] {
    return motet::bench::on_gpu([&](motet::cuda::device& on) { motet::measure(on, how, !nondeterministic); });
  });
}
