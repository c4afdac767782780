// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/swiglu.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/swiglu.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"
#include "laws/gpu_batches.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("swiglu on a GPU is that of the CPU", N, fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  std::uint64_t seed = 1;
  laws::each_gpu_batch([&](const sequences& seq) {
    for (const isize width : {1, 8, 12, 45, 96})
      for (const isize gap : {0, 5, 8}) {
        const isize rows = seq.rows();
        const auto x = grid<value>(rows, 2 * width, gap).random(++seed, 3),
                   dy = grid<value>(rows, width, gap).random(++seed);
        const laws::on_gpu<value> gx(x), gdy(dy), y(rows, width, width + gap),
            dx(rows, 2 * width, 2 * width + gap), over(x);
        laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
          swiglu_forward(ctx, seq, gx.all(), y.all());
          swiglu_backward(ctx, seq, gx.all(), gdy.all(), dx.all());
          swiglu_backward(ctx, seq, over.all(), gdy.all(), over.all());
        });
        grid<value> want(rows, width), slope(rows, 2 * width);
        laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
          swiglu_forward(ctx, seq, x.view(), want.view());
          swiglu_backward(ctx, seq, x.view(), dy.view(), slope.view());
        });
        CHECK(distance(y.back(), want) < tolerance<value>);
        CHECK(distance(dx.back(), slope) < tolerance<value>);
        CHECK(distance(over.back(), slope) < tolerance<value>);
        for (const auto& left : {y.untouched(), dx.untouched(), over.untouched()}) CHECK(left);
      }
  });
}

}  // namespace motet
