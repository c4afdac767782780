// SPDX-License-Identifier: Apache-2.0
// Matrix products of the models against oneDNN, one thread: one call of ours, one of each of theirs, in
// turns; the median of the paired ratios is what counts.
//
//   bench_gemm [flags of Google Benchmark]
#include "onednn.hpp"
#include "suite.hpp"

#include <motet/backend/cpu/products/gemm.hpp>
#include <motet/tensor/arena.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace {

using motet::bf16;
using motet::buffer;
using motet::cpu::gemm_epilogue;
using motet::cpu::gemm_operand;
using motet::cpu::kernel_kind;
using count = motet::isize;

// The most that the kernel's instructions can do: tiles from the first-level cache.
template <class Call>
double rate_of_peak(const Call& tile, double flops) {
  bench::series took(bench::thread_seconds);
  constexpr int tiles = 200;
  for (int turn = 0; turn < 5; ++turn)
    took.take([&] {
      for (int i = 0; i < tiles; ++i) tile();
    });
  return 1e-9 * tiles * flops / took.least();
}

// The peak is that of the tile that multiplies numbers of type T; where bf16 is widened, of the one of float.
template <class T>
double peak() {
  // A panel stays within 24 KiB.
  const auto run = [](auto product, auto choose, count depth, count a_row, count a_step) {
    using element = typename decltype(product)::element;
    constexpr count rows = decltype(product)::tile_rows,
                    columns = decltype(product)::tile_vectors * decltype(product)::lanes;
    const buffer<element> a(rows * depth), b(depth * columns);
    const buffer<float> c(rows * columns);
    std::fill(a.data(), a.data() + a.size(), element(1.0f));
    std::fill(b.data(), b.data() + b.size(), element(1.0f));
    const auto choice = choose(rows, decltype(product)::tile_vectors, false);
    return rate_of_peak(
        [&] {
          choice.run(depth / product.group, a.data(), a_row, a_step, b.data(), c.data(), columns, rows,
                     columns, false, {});
        },
        2.0 * static_cast<double>(depth * rows * columns));
  };
  namespace cpu = motet::cpu;
  [[maybe_unused]] constexpr bool half = std::is_same_v<T, bf16>;
#if MOTET_INSTRUCTION_SETS > 1
  switch (cpu::current_kernel()) {
#if MOTET_INSTRUCTION_SETS > 2
    case kernel_kind::amx:
      if constexpr (half) {
        const cpu::tile_registers held;
        return run(cpu::avx512_bf16::products<cpu::bf16_tiles>{},
                   cpu::avx512_bf16::choose_tile<cpu::avx512_bf16::products<cpu::bf16_tiles>>, 256, 256, 0);
      }
      return run(cpu::avx512::products<float>{}, cpu::avx512::choose_tile<cpu::avx512::products<float>>, 96,
                 1, 8);
    case kernel_kind::avx512_bf16:
      if constexpr (half)
        return run(cpu::avx512_bf16::products<bf16>{},
                   cpu::avx512_bf16::choose_tile<cpu::avx512_bf16::products<bf16>>, 192, 2, 16);
      [[fallthrough]];
    case kernel_kind::avx512:
      return run(cpu::avx512::products<float>{}, cpu::avx512::choose_tile<cpu::avx512::products<float>>, 96,
                 1, 8);
#endif
    case kernel_kind::avx2:
      return run(cpu::avx2::products<float>{}, cpu::avx2::choose_tile<cpu::avx2::products<float>>, 96, 1, 6);
    default: break;
  }
#endif
  return run(cpu::portable::products<float>{}, cpu::portable::choose_tile<cpu::portable::products<float>>, 96,
             1, 6);
}

template <class T>
buffer<T> filled(count size, std::uint64_t seed) {
  buffer<T> made(size);
  const motet::random_stream random(seed, "bench");
  for (count i = 0; i < size; ++i) made[i] = T(random.uniform(static_cast<std::uint64_t>(i)) - 0.5f);
  return made;
}

// out[m, n] of a[m, k] and b[k, n], and what training makes of it.
struct shape {
  const char* direction;
  count m, n, k;
  bool a_transposed, b_transposed, accumulate;
};

template <class T>
inline constexpr const char* precision_of = std::is_same_v<T, bf16> ? "bf16" : "fp32";

std::string name_of(const std::string& precision, const shape& of) {
  return "gemm/" + precision + "/" + of.direction + "/m:" + std::to_string(of.m) +
         "/n:" + std::to_string(of.n) + "/k:" + std::to_string(of.k);
}

template <class T, class Weight, class Out>
void compare(benchmark::State& state, const shape& of) {
  const auto [direction, m, n, k, a_transposed, b_transposed, accumulate] = of;
  const buffer<T> a = filled<T>(m * k, 1);
  const buffer<Weight> b = filled<Weight>(k * n, 2);
  const buffer<Out> ours = filled<Out>(m * n, 3), theirs = filled<Out>(m * n, 3);
  const gemm_operand<T> left{a.data(), a_transposed ? m : k, a_transposed};
  const gemm_operand<Weight> right{b.data(), b_transposed ? k : n, b_transposed};
  const buffer<std::byte> scratch(motet::cpu::gemm_scratch_bytes);
  gemm_epilogue<float> epilogue;
  epilogue.accumulate = accumulate;
  const auto run = [&] {
    motet::cpu::gemm<T>(m, n, k, left, right, ours.data(), n, epilogue, scratch.data());
  };
  bench::series own(bench::thread_seconds), sgemm(bench::thread_seconds), matmul(bench::thread_seconds);
  run();
#if defined(MOTET_HAS_ONEDNN) && MOTET_HAS_ONEDNN
  // oneDNN multiplies equal types: in bf16 it gets weights that are bf16 already, which we round on the way.
  const buffer<T> same = filled<T>(k * n, 2);
  using namespace bench::onednn;
  const product their({m, n, k, left.stride, right.stride, n, a_transposed, b_transposed, accumulate,
                       data_type_of<T>, data_type_of<T>, data_type_of<Out>});
  const buffer<std::byte> their_scratch(their.scratch_bytes() + 1);
  // A product that does not agree is not worth timing.
  their(a.data(), same.data(), theirs.data(), their_scratch.data());
  double worst = 0;
  for (count i = 0; i < m * n; ++i)
    worst = std::max(worst, std::abs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i])) /
                                (1 + std::abs(static_cast<double>(theirs[i]))));
  if (!(worst < (sizeof(T) == 4 ? 1e-3 : 0.2)))
    throw std::runtime_error(name_of(precision_of<T>, of) + " differs from oneDNN by " +
                             std::to_string(worst));
#endif
  for (auto _ : state) {
    state.SetIterationTime(own.take(run));
#if defined(MOTET_HAS_ONEDNN) && MOTET_HAS_ONEDNN
    matmul.take([&] { their(a.data(), same.data(), theirs.data(), their_scratch.data()); });
    if constexpr (std::is_same_v<T, float>)
      sgemm.take([&] { bench::onednn::sgemm(m, n, k, left, right, theirs.data(), n, accumulate); });
#endif
  }
  const double flops = 2e-9 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
               limit = peak<T>();
  auto& row = state.counters;
  row["own_gflops"] = flops / own.median();
  row["peak_gflops"] = limit;
  row["share_of_peak"] = flops / own.median() / limit;
  if (!matmul.empty()) row["matmul_gflops"] = flops / matmul.median();
  if (!sgemm.empty()) row["sgemm_gflops"] = flops / sgemm.median();
  // Their best is whichever of the two is faster, so the smaller ratio counts.
  for (const bench::series* const each : {&matmul, &sgemm}) {
    if (each->empty()) continue;
    const double rate = flops / each->median(), ratio = (*each / own).median();
    row["peer_gflops"] = std::max<double>(row["peer_gflops"], rate);
    row["ratio"] = row["ratio"] == 0 ? ratio : std::min<double>(row["ratio"], ratio);
  }
}

template <class T, class Weight, class Out>
void add(const shape& of) {
  bench::add(name_of(precision_of<T>, of), compare<T, Weight, Out>, of)->Unit(benchmark::kMicrosecond);
}

template <class T>
void all() {
  struct layer {
    count rows, in, out;
  };
  // (rows of one thread of two, in, out) of tiny, small, B/16, L/14: one thread's share of a batch of 64.
  const layer layers[] = {{2080, 128, 384},   {2080, 128, 128},  {2080, 128, 512},   {2080, 512, 128},
                          {2080, 192, 576},   {2080, 192, 192},  {1568, 256, 768},   {1568, 256, 256},
                          {1568, 256, 1024},  {1568, 1024, 256}, {1568, 384, 1152},  {1568, 384, 384},
                          {1568, 384, 1536},  {1568, 1536, 384}, {2464, 512, 1536},  {2464, 512, 512},
                          {2464, 512, 2048},  {2464, 2048, 512}, {1576, 768, 2304},  {1576, 768, 768},
                          {1576, 768, 3072},  {1576, 3072, 768}, {1028, 1024, 3072}, {1028, 1024, 1024},
                          {1028, 1024, 4096}, {1028, 4096, 1024}};
  for (const layer& l : layers) {
    add<T, float, T>({"forward", l.rows, l.out, l.in, false, true, false});
    add<T, float, T>({"backward_input", l.rows, l.in, l.out, false, false, false});
    // Two threads split the columns of the gradient; the rows of both are the inner dimension.
    add<T, T, float>({"backward_weight", l.out, l.in / 2, 2 * l.rows, true, false, true});
  }
}

}  // namespace

int main(int count, char** words) {
  return bench::run(
      count, words,
      motet::options("bench_gemm", "matrix products of the models beside oneDNN's and beside the peak"), [] {
        all<float>();
        all<bf16>();
      });
}
