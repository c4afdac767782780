// SPDX-License-Identifier: Apache-2.0
// Attention forward and backward on one thread, as a fraction of what this processor's multiply-adds can do. Prints one JSON line for each shape.
// Usage: attention [seconds for each shape] [only this number of rows]

#include <motet/backend/cpu/attention/attention.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

// Multiply-adds in registers and nothing else, the rate to compare with. Returns how many FLOPs it did.
#define MOTET_BENCH_RATE(SET, TARGET)                                                          \
  namespace motet::cpu::SET {                                                                  \
  __attribute__((noinline)) TARGET double multiply_add_rate(index rounds) {                    \
    constexpr int chains = 12;                                                                 \
    f32_vector sums[chains];                                                                   \
    MOTET_UNROLL                                                                               \
    for (int i = 0; i < chains; ++i) sums[i] = splat(static_cast<float>(i));                   \
    const f32_vector a = splat(0.999f), b = splat(0.001f);                                     \
    for (index r = 0; r < rounds; ++r) {                                                       \
      MOTET_UNROLL                                                                             \
      for (int i = 0; i < chains; ++i) sums[i] = fma(sums[i], a, b);                           \
    }                                                                                          \
    f32_vector total = sums[0];                                                                \
    for (int i = 1; i < chains; ++i) total += sums[i];                                         \
    volatile float sink = sum(total);                                                          \
    (void)sink;                                                                                \
    return 2.0 * chains * static_cast<double>(rounds) * static_cast<double>(vector_bytes / 4); \
  }                                                                                            \
  }
MOTET_BENCH_RATE(portable, )
#if MOTET_X86
MOTET_BENCH_RATE(avx2, __attribute__((target("avx2,fma,f16c"))))
MOTET_BENCH_RATE(avx512, __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"))))
#endif

namespace motet {
namespace {

// Processor time of this thread, so that other programs count little.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The shortest of many runs: what the code takes when nothing else gets in its way.
template <class Function>
double shortest(double budget, Function&& function) {
  double best = 1e30;
  const double start = now();
  for (int runs = 0; runs < 5 || now() - start < budget; ++runs) {
    const double before = now();
    function();
    best = std::min(best, now() - before);
  }
  return best;
}

double peak_gflops() {
  constexpr index rounds = 20000;
  double flops = 0;
  const auto once = [&] { MOTET_SIMD_DISPATCH(flops =, multiply_add_rate(rounds)); };
  return (shortest(0.2, once), flops) / shortest(0.2, once) / 1e9;
}

template <class T>
const char* type_name() {
  return dtype_of<T> == dtype::bf16 ? "bf16" : dtype_of<T> == dtype::f32 ? "f32" : "f64";
}

struct bench_case {
  index samples, rows, heads, kv_heads, width;
  mask_kind mask;
};

template <class T>
void measure(const bench_case& c, double budget, double peak) {
  const attention_shape shape{c.heads, c.kv_heads, c.width, c.mask, 0};
  const sequences seq{c.samples, c.rows, nullptr};
  const index q_width = c.heads * c.width, kv_width = c.kv_heads * c.width, all = q_width + 2 * kv_width, rows = seq.rows();
  const buffer<T> fused(rows * all), fused_gradient(rows * all), y(rows * q_width), dy(rows * q_width);
  const buffer<float> lse(rows * c.heads);
  const random_stream numbers(1, "bench");
  for (index i = 0; i < rows * all; ++i) fused[i] = T(numbers.uniform(static_cast<std::uint64_t>(i)) - 0.5f);
  for (index i = 0; i < rows * q_width; ++i) dy[i] = T(numbers.uniform(static_cast<std::uint64_t>(i + rows * all)) - 0.5f);
  const matrix<T> qkv{fused.data(), rows, all, all}, dqkv{fused_gradient.data(), rows, all, all};
  const matrix<T> my{y.data(), rows, q_width, q_width}, mdy{dy.data(), rows, q_width, q_width};
  const matrix<float> ml{lse.data(), rows, c.heads, c.heads};
  const auto forward = [&](cpu::context& ctx) {
    attention_forward(ctx, seq, seq, shape, qkv.columns(0, q_width), qkv.columns(q_width, kv_width), qkv.columns(q_width + kv_width, kv_width), my,
                      ml);
  };
  const auto backward = [&](cpu::context& ctx) {
    attention_backward(ctx, seq, seq, shape, qkv.columns(0, q_width), qkv.columns(q_width, kv_width), qkv.columns(q_width + kv_width, kv_width), my,
                       ml, mdy, dqkv.columns(0, q_width), dqkv.columns(q_width, kv_width), dqkv.columns(q_width + kv_width, kv_width));
  };
  cpu::context plan;
  forward(plan);
  backward(plan);
  const buffer<std::byte> scratch(plan.scratch.peak()), memory(arena::alignment);
  cpu::context ctx;
  ctx.memory = arena(memory.data(), memory.size());
  ctx.scratch = arena(scratch.data(), scratch.size());
  const double forward_seconds = shortest(budget / 2, [&] { forward(ctx); }), backward_seconds = shortest(budget / 2, [&] { backward(ctx); });
  const double products = 2.0 * static_cast<double>(c.samples * c.heads) * static_cast<double>(c.rows * c.rows) * static_cast<double>(c.width);
  const double forward_rate = 2 * products / forward_seconds / 1e9, backward_rate = 5 * products / backward_seconds / 1e9;
  const double both_rate = 7 * products / (forward_seconds + backward_seconds) / 1e9;
  std::printf(
      "{\"type\": \"%s\", \"samples\": %td, \"rows\": %td, \"heads\": %td, \"kv_heads\": %td, \"head_width\": %td, \"mask\": \"%s\", "
      "\"forward_us\": %.1f, \"backward_us\": %.1f, \"forward_gflops\": %.1f, \"backward_gflops\": %.1f, \"gflops\": %.1f, \"peak_gflops\": %.1f, "
      "\"forward_of_peak\": %.3f, \"backward_of_peak\": %.3f, \"of_peak\": %.3f}\n",
      type_name<T>(), c.samples, c.rows, c.heads, c.kv_heads, c.width, c.mask == mask_kind::full ? "full" : "causal", forward_seconds * 1e6,
      backward_seconds * 1e6, forward_rate, backward_rate, both_rate, peak, forward_rate / peak, backward_rate / peak, both_rate / peak);
  std::fflush(stdout);
}

}  // namespace
}  // namespace motet

int main(int argc, char** argv) {
  using namespace motet;
  const double budget = argc > 1 ? std::atof(argv[1]) : 0.5;
  const double peak = peak_gflops();
  const auto full = mask_kind::full, causal = mask_kind::causal;
  const bench_case cases[] = {{4, 17, 6, 6, 64, full},   {4, 50, 12, 12, 64, full},   {4, 65, 6, 6, 64, full},    {4, 65, 12, 12, 64, full},
                              {4, 77, 8, 8, 64, causal}, {2, 197, 12, 12, 64, full},  {1, 257, 16, 16, 64, full}, {1, 257, 8, 8, 128, full},
                              {4, 65, 3, 3, 32, full},   {1, 1024, 8, 2, 64, causal}, {1, 2048, 4, 4, 64, full}};
  const motet::index only = argc > 2 ? std::atoi(argv[2]) : 0;
  for (const auto& c : cases)
    if (only == 0 || c.rows == only) measure<float>(c, budget, peak);
  for (const auto& c : {cases[2], cases[4], cases[6]})
    if (only == 0 || c.rows == only) measure<bf16>(c, budget, peak);
}
