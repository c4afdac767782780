// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/pool.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/pool.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"
#include "laws/gpu_batches.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

namespace {

template <class N>
void compare(const sequences& seq, isize width, isize gap, std::uint64_t seed) {
  using value = typename N::value;
  using stream = typename N::stream;
  const isize rows = seq.rows(), samples = seq.samples;
  const auto x = grid<stream>(rows, width, gap).random(seed),
             dx = grid<stream>(rows, width, gap).random(seed + 1);
  const auto dy = grid<value>(samples, width, gap).random(seed + 2);
  for (const pick which : {pick::first, pick::last}) {
    const laws::on_gpu<stream> gx(x), gdx(dx);
    const laws::on_gpu<value> gdy(dy), y(samples, width, width + gap);
    laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
      pick_forward(ctx, seq, which, gx.all(), y.all());
      pick_backward(ctx, seq, which, gdy.all(), gdx.all());
    });
    grid<value> want(samples, width);
    auto slope = dx;
    laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
      pick_forward(ctx, seq, which, x.view(), want.view());
      pick_backward(ctx, seq, which, dy.view(), slope.view());
    });
    CHECK(distance(y.back(), want) == 0);
    CHECK(distance(gdx.back(), slope) == 0);
    CHECK(y.untouched());
    CHECK(gdx.untouched());
  }
  for (const bool mean : {true, false}) {
    const laws::on_gpu<stream> gx(x), gdx(rows, width, width + gap);
    const laws::on_gpu<value> gdy(dy), y(samples, width, width + gap);
    const auto both = [&](auto& ctx, auto from, auto to, auto slope, auto into) {
      if (mean) {
        mean_forward(ctx, seq, from, to);
        mean_backward(ctx, seq, slope, into);
      } else {
        sum_forward(ctx, seq, 0.375, from, to);
        sum_backward(ctx, seq, 0.375, slope, into);
      }
    };
    laws::gpu_run_foretold(
        [&](motet::cuda::context& ctx) { both(ctx, gx.all(), y.all(), gdy.all(), gdx.all()); });
    grid<value> want(samples, width);
    grid<stream> slope(rows, width);
    laws::cpu_run_foretold(
        1, [&](cpu::context& ctx) { both(ctx, x.view(), want.view(), dy.view(), slope.view()); });
    CAPTURE(width);
    CHECK(distance(y.back(), want) < tolerance<value>);
    CHECK(distance(gdx.back(), slope) < tolerance<stream>);
    CHECK(y.untouched());
    CHECK(gdx.untouched());
  }
}

}  // namespace

TEST_CASE_TEMPLATE("pooling on a GPU is that of the CPU", N, fp32, mixed_bf16, fp64) {
  std::uint64_t seed = 1;
  laws::each_gpu_batch([&](const sequences& seq) {
    for (const isize width : {1, 8, 45, 160})
      for (const isize gap : {0, 3, 8}) compare<N>(seq, width, gap, seed += 3);
  });
}

TEST_CASE("means of long samples, whose rows are summed in chunks") {
  const isize offsets[] = {0, 300, 300, 450};
  compare<fp32>({3, 1, offsets}, 36, 0, 50);
  compare<mixed_bf16>({2, 200, nullptr}, 40, 0, 60);
}

}  // namespace motet
