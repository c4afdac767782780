// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/kernels/sums.hpp>

#include <doctest/doctest.h>

#include <cuda_run.hpp>

namespace motet {
using laws::flat_on_gpu, laws::gpu_run_foretold;

TEST_CASE_TEMPLATE("what blocks found becomes a loss and is added to gradients", M, float, double) {
  for (const isize count : {0, 1, 31, 100, 3000}) {
    const auto numbers = laws::grid<double>(count, 3).random(5);
    const flat_on_gpu<double> parts(numbers.data);
    const flat_on_gpu<M> gradient(std::vector<M>{M(0.5)});
    double want[3] = {}, got = NAN, alone = NAN;
    for (isize r = 0; r < count; ++r)
      for (isize c = 0; c < 3; ++c) want[c] += 2 * numbers(r, c);
    gpu_run_foretold([&](motet::cuda::context& ctx) {
      if (ctx.measuring()) return;
      const motet::cuda::real one = ctx.on->take_real(), two = ctx.on->take_real();
      motet::cuda::settle(ctx, motet::cuda::settle_sums<M, 3>{
                                   parts.data(), count, 2, one.at(), {nullptr, nullptr, gradient.data()}});
      motet::cuda::add_up(ctx, parts.data(), 3 * count, 2, two);
      got = number_of(ctx, one);
      alone = number_of(ctx, two);
    });
    CHECK(laws::off_by(got, want[0]) < 1e-12 * (1 + std::abs(want[0])) * 100);
    CHECK(laws::off_by(alone, want[0] + want[1] + want[2]) < 1e-10);
    CHECK(laws::off_by(static_cast<double>(gradient.back()[0]) - 0.5, want[2]) <
          (sizeof(M) == 4 ? 1e-5 : 1e-11));
  }
}

}  // namespace motet
