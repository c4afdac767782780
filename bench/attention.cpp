// SPDX-License-Identifier: Apache-2.0
// Attention forward and backward on one thread, as a share of what this processor's multiply-adds can do.
// Forward, backward and multiply-adds alone take turns; the shortest of each counts.
//
//   bench_attention [flags of Google Benchmark]
#include "suite.hpp"

#include <motet/backend/cpu/attention/attention.hpp>
#include <motet/tensor/random.hpp>

// Multiply-adds in registers and nothing else, the rate to compare with. Returns how many FLOPs it did.
#define MOTET_BENCH_RATE(SET, TARGET)                                                          \
  namespace motet::cpu::SET {                                                                  \
  __attribute__((noinline)) TARGET double multiply_add_rate(isize rounds) {                    \
    constexpr int chains = 12;                                                                 \
    f32_vector sums[chains];                                                                   \
    MOTET_UNROLL                                                                               \
    for (int i = 0; i < chains; ++i) sums[i] = splat(static_cast<float>(i));                   \
    const f32_vector a = splat(0.999f), b = splat(0.001f);                                     \
    for (isize r = 0; r < rounds; ++r) {                                                       \
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
#if MOTET_INSTRUCTION_SETS > 1
MOTET_BENCH_RATE(avx2, __attribute__((target("avx2,fma,f16c"))))
#endif
#if MOTET_INSTRUCTION_SETS > 2
MOTET_BENCH_RATE(avx512, __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"))))
#endif

namespace motet {
namespace {

constexpr isize peak_rounds = 20000;
double multiply_adds() {
  double flops = 0;
  MOTET_SIMD_DISPATCH(flops =, multiply_add_rate(peak_rounds));
  return flops;
}

template <class T>
const char* type_name() {
  return dtype_of<T> == dtype::bf16 ? "bf16" : dtype_of<T> == dtype::f32 ? "f32" : "f64";
}

struct bench_case {
  isize samples, rows, heads, kv_heads, width;
  mask_kind mask;
};

std::string name_of(const bench_case& c, const char* type) {
  const auto part = [](const char* name, isize value) {
    return "/" + std::string(name) + ":" + std::to_string(value);
  };
  return "attention/" + std::string(type) + part("samples", c.samples) + part("rows", c.rows) +
         part("heads", c.heads) + part("kv_heads", c.kv_heads) + part("head_width", c.width) +
         (c.mask == mask_kind::full ? "/full" : "/causal");
}

template <class T>
void measure(benchmark::State& state, const bench_case& c) {
  const attention_shape shape{c.heads, c.kv_heads, c.width, c.mask, 0};
  const sequences seq{c.samples, c.rows, nullptr};
  const isize q_width = c.heads * c.width, kv_width = c.kv_heads * c.width, all = q_width + 2 * kv_width,
              rows = seq.rows();
  const buffer<T> fused(rows * all), fused_gradient(rows * all), y(rows * q_width), dy(rows * q_width);
  const buffer<float> lse(rows * c.heads);
  const random_stream numbers(1, "bench");
  for (isize i = 0; i < rows * all; ++i) fused[i] = T(numbers.uniform(static_cast<std::uint64_t>(i)) - 0.5f);
  for (isize i = 0; i < rows * q_width; ++i)
    dy[i] = T(numbers.uniform(static_cast<std::uint64_t>(i + rows * all)) - 0.5f);
  const matrix<T> qkv{fused.data(), rows, all, all}, dqkv{fused_gradient.data(), rows, all, all};
  const matrix<T> my{y.data(), rows, q_width, q_width}, mdy{dy.data(), rows, q_width, q_width};
  const matrix<float> ml{lse.data(), rows, c.heads, c.heads};
  const auto forward = [&](cpu::context& ctx) {
    attention_forward(ctx, seq, seq, shape, qkv.columns(0, q_width), qkv.columns(q_width, kv_width),
                      qkv.columns(q_width + kv_width, kv_width), my, ml);
  };
  const auto backward = [&](cpu::context& ctx) {
    attention_backward(ctx, seq, seq, shape, qkv.columns(0, q_width), qkv.columns(q_width, kv_width),
                       qkv.columns(q_width + kv_width, kv_width), my, ml, mdy, dqkv.columns(0, q_width),
                       dqkv.columns(q_width, kv_width), dqkv.columns(q_width + kv_width, kv_width));
  };
  cpu::context dry;
  forward(dry);
  backward(dry);
  const buffer<std::byte> scratch(dry.scratch.peak()), memory(arena::alignment);
  cpu::context ctx;
  ctx.memory = arena(memory.data(), memory.size());
  ctx.scratch = arena(scratch.data(), scratch.size());
  bench::series forward_took(bench::thread_seconds), backward_took(bench::thread_seconds),
      peak_took(bench::thread_seconds);
  double peak_flops = 0;
  for (auto _ : state) {
    const double both = forward_took.take([&] { forward(ctx); }) + backward_took.take([&] { backward(ctx); });
    peak_took.take([&] { peak_flops = multiply_adds(); });
    state.SetIterationTime(both);
  }
  const double products = 2e-9 * static_cast<double>(c.samples * c.heads) *
                          static_cast<double>(c.rows * c.rows) * static_cast<double>(c.width);
  const double peak = 1e-9 * peak_flops / peak_took.least(),
               forward_rate = 2 * products / forward_took.least(),
               backward_rate = 5 * products / backward_took.least(),
               rate = 7 * products / (forward_took.least() + backward_took.least());
  auto& row = state.counters;
  row["own_gflops"] = rate;
  row["peak_gflops"] = peak;
  row["share_of_peak"] = rate / peak;
  row["forward_us"] = 1e6 * forward_took.least();
  row["backward_us"] = 1e6 * backward_took.least();
  row["forward_gflops"] = forward_rate;
  row["backward_gflops"] = backward_rate;
  row["forward_share"] = forward_rate / peak;
  row["backward_share"] = backward_rate / peak;
}

template <class T>
void add(const bench_case& c) {
  bench::add(name_of(c, type_name<T>()), [c](benchmark::State& state) {
    measure<T>(state, c);
  })->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace motet

int main(int count, char** words) {
  using namespace motet;
  return bench::run(count, words,
                    options("bench_attention", "attention on one thread beside the rate of multiply-adds"),
                    [] {
                      const auto full = mask_kind::full, causal = mask_kind::causal;
                      const bench_case cases[] = {
                          {4, 17, 6, 6, 64, full},     {4, 50, 12, 12, 64, full}, {4, 65, 6, 6, 64, full},
                          {4, 65, 12, 12, 64, full},   {4, 77, 8, 8, 64, causal}, {2, 197, 12, 12, 64, full},
                          {1, 257, 16, 16, 64, full},  {1, 257, 8, 8, 128, full}, {4, 65, 3, 3, 32, full},
                          {1, 1024, 8, 2, 64, causal}, {1, 2048, 4, 4, 64, full}};
                      for (const bench_case& c : cases) add<float>(c);
                      for (const bench_case& c : {cases[2], cases[4], cases[6]}) add<bf16>(c);
                    });
}
