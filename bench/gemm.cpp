// SPDX-License-Identifier: Apache-2.0
// Matrix products of the models against oneDNN, one thread: one call of ours, one of theirs, in turns; the median of the paired ratios is what counts,
// because the clock of a machine moves by more than the difference. Prints one JSON line for each shape and direction.
//
//   bench_gemm [--seconds-per-shape 1] [--kernel portable|avx2|avx512|avx512_bf16|amx] [--only WIDTH] [--precision fp32|bf16]
#include "onednn.hpp"

#include <motet/backend/cpu/products/gemm.hpp>
#include <motet/tensor/arena.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace {

using motet::bf16;
using motet::buffer;
using motet::cpu::gemm_epilogue;
using motet::cpu::gemm_operand;
using motet::cpu::kernel_kind;
using count = motet::index;

// Time of this thread alone, so that neighbours on the machine count less.
double seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// The most that the kernel's instructions can do: tiles from the first-level cache.
template <class Call>
double rate_of_peak(const Call& tile, double flops) {
  double best = 0;
  for (int turn = 0; turn < 5; ++turn) {
    const double start = seconds();
    for (int i = 0; i < 200; ++i) tile();
    best = std::max(best, 200 * flops / (seconds() - start));
  }
  return best * 1e-9;
}

// Of the tile that multiplies numbers of type T, where bf16 is widened the one of float.
template <class T>
double peak() {
  // A panel stays within 24 KiB.
  const auto run = [](auto product, auto choose, count depth, count a_row, count a_step) {
    using element = typename decltype(product)::element;
    constexpr count rows = decltype(product)::tile_rows, columns = decltype(product)::tile_vectors * decltype(product)::lanes;
    const buffer<element> a(rows * depth), b(depth * columns);
    const buffer<float> c(rows * columns);
    std::fill(a.data(), a.data() + a.size(), element(1.0f));
    std::fill(b.data(), b.data() + b.size(), element(1.0f));
    const auto choice = choose(rows, decltype(product)::tile_vectors, false);
    return rate_of_peak([&] { choice.run(depth / product.group, a.data(), a_row, a_step, b.data(), c.data(), columns, rows, columns, false, {}); },
                        2.0 * static_cast<double>(depth * rows * columns));
  };
  namespace cpu = motet::cpu;
  [[maybe_unused]] constexpr bool half = std::is_same_v<T, bf16>;
#if MOTET_X86
  switch (cpu::current_kernel()) {
    case kernel_kind::amx:
      if constexpr (half) {
        const cpu::tile_registers held;
        return run(cpu::avx512_bf16::products<cpu::bf16_tiles>{}, cpu::avx512_bf16::choose_tile<cpu::avx512_bf16::products<cpu::bf16_tiles>>, 256,
                   256, 0);
      }
      return run(cpu::avx512::products<float>{}, cpu::avx512::choose_tile<cpu::avx512::products<float>>, 96, 1, 8);
    case kernel_kind::avx512_bf16:
      if constexpr (half) return run(cpu::avx512_bf16::products<bf16>{}, cpu::avx512_bf16::choose_tile<cpu::avx512_bf16::products<bf16>>, 192, 2, 16);
      [[fallthrough]];
    case kernel_kind::avx512: return run(cpu::avx512::products<float>{}, cpu::avx512::choose_tile<cpu::avx512::products<float>>, 96, 1, 8);
    case kernel_kind::avx2: return run(cpu::avx2::products<float>{}, cpu::avx2::choose_tile<cpu::avx2::products<float>>, 96, 1, 6);
    case kernel_kind::portable: break;
  }
#endif
  return run(cpu::portable::products<float>{}, cpu::portable::choose_tile<cpu::portable::products<float>>, 96, 1, 6);
}

template <class T>
buffer<T> filled(count size, std::uint64_t seed) {
  buffer<T> made(size);
  const motet::random_stream random(seed, "bench");
  for (count i = 0; i < size; ++i) made[i] = T(random.uniform(static_cast<std::uint64_t>(i)) - 0.5f);
  return made;
}

struct settings {
  double seconds_per_shape = 1;
  count only = 0;
  bool half = false;
};

template <class T, class Weight, class Out>
void compare(const settings& how, const char* direction, count m, count n, count k, bool a_transposed, bool b_transposed, bool accumulate) {
  const buffer<T> a = filled<T>(m * k, 1);
  const buffer<Weight> b = filled<Weight>(k * n, 2);
  const buffer<Out> ours = filled<Out>(m * n, 3), theirs = filled<Out>(m * n, 3);
  const gemm_operand<T> left{a.data(), a_transposed ? m : k, a_transposed};
  const gemm_operand<Weight> right{b.data(), b_transposed ? k : n, b_transposed};
  const buffer<std::byte> scratch(motet::cpu::gemm_scratch_bytes);
  gemm_epilogue<float> epilogue;
  epilogue.accumulate = accumulate;
  const auto run = [&] { motet::cpu::gemm<T>(m, n, k, left, right, ours.data(), n, epilogue, scratch.data()); };
  const double flops = 2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);

  std::vector<double> own, sgemm, matmul, sgemm_ratio, matmul_ratio;
  const auto timed = [&](auto&& call) {
    const double start = seconds();
    call();
    return seconds() - start;
  };
#if defined(MOTET_HAS_ONEDNN) && MOTET_HAS_ONEDNN
  // oneDNN multiplies equal types: in bf16 it gets weights that are bf16 already, which we round on the way.
  const buffer<T> same = filled<T>(k * n, 2);
  using namespace bench::onednn;
  const product::shape shape{
      m, n, k, left.stride, right.stride, n, a_transposed, b_transposed, accumulate, data_type_of<T>, data_type_of<T>, data_type_of<Out>};
  const product their(shape);
  const buffer<std::byte> their_scratch(their.scratch_bytes() + 1);
#endif
  run();
#if defined(MOTET_HAS_ONEDNN) && MOTET_HAS_ONEDNN
  // What does not agree is not worth timing.
  their(a.data(), same.data(), theirs.data(), their_scratch.data());
  double worst = 0;
  for (count i = 0; i < m * n; ++i)
    worst = std::max(worst, std::abs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i])) / (1 + std::abs(static_cast<double>(theirs[i]))));
  if (!(worst < (sizeof(T) == 4 ? 1e-3 : 0.2))) {
    std::fprintf(stderr, "%s %td x %td x %td differs from oneDNN by %g\n", direction, m, n, k, worst);
    std::exit(1);
  }
#endif
  double spent = 0;
  while (spent < how.seconds_per_shape || own.size() < 5) {
    const double mine = timed(run);
    own.push_back(mine);
    spent += mine;
#if defined(MOTET_HAS_ONEDNN) && MOTET_HAS_ONEDNN
    const double product_time = timed([&] { their(a.data(), same.data(), theirs.data(), their_scratch.data()); });
    matmul.push_back(product_time);
    matmul_ratio.push_back(product_time / mine);
    spent += product_time;
    if constexpr (std::is_same_v<T, float>) {
      const double sgemm_time = timed([&] { bench::onednn::sgemm(m, n, k, left, right, theirs.data(), n, accumulate); });
      sgemm.push_back(sgemm_time);
      sgemm_ratio.push_back(sgemm_time / mine);
      spent += sgemm_time;
    }
#endif
  }
  const double rate = flops / median(own), limit = peak<T>();
  const double other = std::max(matmul.empty() ? 0 : flops / median(matmul), sgemm.empty() ? 0 : flops / median(sgemm));
  // Their best is whichever of the two is faster, so the smaller ratio counts.
  const double ratio = sgemm_ratio.empty() ? median(matmul_ratio) : std::min(median(sgemm_ratio), median(matmul_ratio));
  std::printf(
      "{\"direction\": \"%s\", \"m\": %td, \"n\": %td, \"k\": %td, \"ours_gflops\": %.1f, \"onednn_sgemm_gflops\": %.1f, "
      "\"onednn_matmul_gflops\": %.1f, \"onednn_best_gflops\": %.1f, \"ratio\": %.3f, \"peak_gflops\": %.1f, \"of_peak\": %.3f, \"turns\": %zu}\n",
      direction, m, n, k, rate, sgemm.empty() ? 0 : flops / median(sgemm), matmul.empty() ? 0 : flops / median(matmul), other, ratio, limit,
      rate / limit, own.size());
  std::fflush(stdout);
}

template <class T>
void all(const settings& how) {
  struct layer {
    count rows, in, out;
  };
  // (rows of one thread of two, in, out) of tiny, small, B/16, L/14: one thread's share of a batch of 64.
  const layer layers[] = {{2080, 128, 384},   {2080, 128, 128},  {2080, 128, 512},  {2080, 512, 128},  {2080, 192, 576},   {2080, 192, 192},
                          {1568, 256, 768},   {1568, 256, 256},  {1568, 256, 1024}, {1568, 1024, 256}, {1568, 384, 1152},  {1568, 384, 384},
                          {1568, 384, 1536},  {1568, 1536, 384}, {2464, 512, 1536}, {2464, 512, 512},  {2464, 512, 2048},  {2464, 2048, 512},
                          {1576, 768, 2304},  {1576, 768, 768},  {1576, 768, 3072}, {1576, 3072, 768}, {1028, 1024, 3072}, {1028, 1024, 1024},
                          {1028, 1024, 4096}, {1028, 4096, 1024}};
  for (const layer& l : layers) {
    if (how.only != 0 && l.in != how.only) continue;
    compare<T, float, T>(how, "forward", l.rows, l.out, l.in, false, true, false);
    compare<T, float, T>(how, "backward_input", l.rows, l.in, l.out, false, false, false);
    // Two threads split the columns of the gradient; the rows of both are the inner dimension.
    compare<T, T, float>(how, "backward_weight", l.out, l.in / 2, 2 * l.rows, true, false, true);
  }
}

}  // namespace

int main(int argc, char** argv) {
  settings how;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i], value = argv[i + 1];
    if (flag == "--seconds-per-shape") how.seconds_per_shape = std::atof(argv[i + 1]);
    else if (flag == "--only") how.only = std::atol(argv[i + 1]);
    else if (flag == "--precision") how.half = value == "bf16";
    else return std::fprintf(stderr, "unknown flag: %s\n", argv[i]), 2;
  }
  try {
    std::printf("{\"cpu\": \"%s\", \"precision\": \"%s\"}\n", motet::cpu::describe_cpu().c_str(), how.half ? "bf16" : "fp32");
    if (how.half) all<bf16>(how);
    else all<float>(how);
  } catch (const motet::error& refused) {
    return std::fprintf(stderr, "%s\n", refused.what()), 2;
  }
}
