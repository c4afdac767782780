// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/losses/token_losses.hpp>

#include <doctest/doctest.h>

#include <motet/backend/cpu/losses/token_losses.hpp>

#include <cpu_run.hpp>
#include <cuda_run.hpp>

namespace motet {
using laws::cpu_run_foretold, laws::distance, laws::grid, laws::gpu_run_foretold, laws::on_gpu;

namespace {

template <class T>
void compare(isize rows, isize classes, isize gap, double scale, double weight) {
  CAPTURE(weight);
  CAPTURE(rows);
  CAPTURE(classes);
  const auto logits = grid<float>(rows, classes, gap).random(7, scale);
  const auto slope_of = grid<float>(rows, 1).random(8);
  std::vector<std::int32_t> ids;
  for (isize r = 0; r < rows; ++r)
    ids.push_back(r % 4 == 2 ? -100 : static_cast<std::int32_t>((r * 31 + 5) % classes));
  grid<float> want(rows, 1);
  grid<T> want_slopes(rows, classes);
  const sequences seq{rows, 1, nullptr};
  cpu_run_foretold(1, [&](cpu::context& ctx) {
    token_losses(ctx, seq, logits.view(), ids.data(), {weight}, want.view());
    token_slopes(ctx, seq, logits.view(), ids.data(), {weight}, slope_of.view(), want_slopes.view());
  });
  const on_gpu<float> from(logits), slope(slope_of), losses(rows, 1, 1);
  const on_gpu<T> slopes(rows, classes, classes + gap);
  const laws::flat_on_gpu<std::int32_t> targets(ids);
  gpu_run_foretold([&](motet::cuda::context& ctx) {
    token_losses(ctx, seq, from.all(), targets.data(), {weight}, losses.all());
    token_slopes(ctx, seq, from.all(), targets.data(), {weight}, slope.all(), slopes.all());
  });
  CHECK(distance(losses.back(), want) < 2e-6);
  CHECK(distance(slopes.back(), want_slopes) < (sizeof(T) == 2 ? 1e-2 : 2e-6));
  CHECK(losses.untouched());
  CHECK(slopes.untouched());
}

}  // namespace

TEST_CASE_TEMPLATE("each row's surprise and its gradient on a GPU are those of the CPU", T, float, bf16) {
  compare<T>(3, 4104, 0, 4, 0);
  for (const double weight : {0.0, 0.3}) {
    compare<T>(9, 136, 8, 3, weight);
    compare<T>(7, 33, 3, 3, weight);
    compare<T>(1, 1, 0, 1, weight);
    compare<T>(0, 8, 0, 1, weight);
  }
}

TEST_CASE("what samples lost is added up on a GPU, with slopes of one") {
  const auto losses = grid<float>(300, 1).random(3);
  double want = 0;
  for (isize r = 0; r < 300; ++r) want += static_cast<double>(losses(r, 0));
  const on_gpu<float> from(losses), slopes(300, 1, 1);
  double found = 0;
  gpu_run_foretold([&](motet::cuda::context& ctx) {
    const auto one = sum_losses(ctx, from.all(), slopes.all());
    if (!ctx.measuring()) found = number_of(ctx, one);
  });
  CHECK(found == doctest::Approx(want));
  const auto back = slopes.back();
  for (isize r = 0; r < 300; ++r) CHECK(back(r, 0) == 1);
}

}  // namespace motet
