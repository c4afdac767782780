// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/dropout.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/dropout.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"
#include "laws/gpu_batches.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("dropout draws on a GPU exactly what it draws on the CPU", N, fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  std::uint64_t seed = 1;
  laws::each_gpu_batch([&](const sequences& seq) {
    for (const isize width : {1, 2, 6, 8, 45, 160})
      for (const double rate : {0.0, 0.3, 1.0}) {
        const isize rows = seq.rows(), gap = seed % 2 == 0 ? 0 : width % 8 == 0 ? 8 : 3;
        const draw_key draws{seed * 77, seed * 5, static_cast<isize>(seed) * 1000003, seed % 5 != 0};
        const std::uint64_t key = random_stream::hash("layer") + seed;
        const auto x = grid<value>(rows, width, gap).random(++seed, 2, 3);
        const laws::on_gpu<value> gx(x), y(rows, width, width + gap), over(x);
        laws::gpu_run_foretold(
            [&](motet::cuda::context& ctx) {
              dropout_apply(ctx, seq, rate, key, gx.all(), y.all());
              dropout_apply(ctx, seq, rate, key, over.all(), over.all());
            },
            draws);
        grid<value> want(rows, width);
        laws::cpu_run_foretold(
            1, [&](cpu::context& ctx) { dropout_apply(ctx, seq, rate, key, x.view(), want.view()); }, draws);
        CHECK(distance(y.back(), want) == 0);
        CHECK(distance(over.back(), want) == 0);
        CHECK(y.untouched());
        CHECK(over.untouched());
      }
  });
}

TEST_CASE("the step is read when a kernel runs: other steps draw other numbers") {
  const sequences seq{1, 4, nullptr};
  const laws::on_gpu<float> x(grid<float>(4, 64).fill(1));
  std::vector<grid<float>> found;
  for (const std::uint64_t step : {3u, 4u, 3u}) {
    const laws::on_gpu<float> y(4, 64);
    laws::gpu_run_foretold(
        [&](motet::cuda::context& ctx) { dropout_apply(ctx, seq, 0.5, 9, x.all(), y.all()); },
        {1, step, 0, true});
    found.push_back(y.back());
  }
  CHECK(distance(found[0], found[1]) > 0.1);
  CHECK(distance(found[0], found[2]) == 0);
}

}  // namespace motet
