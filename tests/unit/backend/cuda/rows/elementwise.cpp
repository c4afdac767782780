// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/elementwise.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/elementwise.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"
#include "laws/gpu_batches.hpp"

#include <cstring>

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("zero, add, scale and copy on a GPU are those of the CPU", N, fp32, mixed_bf16, fp64) {
  using value = typename N::value;
  using stream = typename N::stream;
  std::uint64_t seed = 1;
  laws::each_gpu_batch([&](const sequences& seq) {
    for (const isize width : {1, 8, 24, 45, 160})
      for (const isize gap : {0, 3, 8}) {
        const isize rows = seq.rows();
        const auto a = grid<value>(rows, width, gap).random(++seed);
        const auto b = grid<stream>(rows, width).random(++seed);
        const laws::on_gpu<value> ga(a), narrow(rows, width, width + gap), same(rows, width, width + gap),
            nothing(rows, width, width + gap), over(a), scaled(rows, width, width + gap);
        const laws::on_gpu<stream> gb(b), sum(rows, width, width + gap), wide(rows, width, width + gap);
        laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
          add(ctx, seq, ga.all(), gb.all(), sum.all());
          add(ctx, seq, over.all(), over.all(), over.all());
          scale_rows(ctx, seq, 1.3, gb.all(), scaled.all());
          scale_rows(ctx, seq, 0.7, scaled.all(), scaled.all());
          copy(ctx, seq, gb.all(), narrow.all());
          copy(ctx, seq, ga.all(), wide.all());
          copy(ctx, seq, ga.all(), same.all());
          zero(ctx, seq, nothing.all());
        });
        grid<stream> want_sum(rows, width), want_wide(rows, width);
        grid<value> want_narrow(rows, width), want_over(rows, width), want_scaled(rows, width);
        laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
          add(ctx, seq, a.view(), b.view(), want_sum.view());
          add(ctx, seq, a.view(), a.view(), want_over.view());
          scale_rows(ctx, seq, 1.3, b.view(), want_scaled.view());
          scale_rows(ctx, seq, 0.7, want_scaled.view(), want_scaled.view());
          copy(ctx, seq, b.view(), want_narrow.view());
          copy(ctx, seq, a.view(), want_wide.view());
        });
        CHECK(distance(sum.back(), want_sum) == 0);
        CHECK(distance(over.back(), want_over) == 0);
        CHECK(distance(scaled.back(), want_scaled) == 0);
        CHECK(distance(narrow.back(), want_narrow) == 0);
        CHECK(distance(wide.back(), want_wide) == 0);
        CHECK(distance(same.back(), a) == 0);
        CHECK(distance(nothing.back(), grid<value>(rows, width).fill(0)) == 0);
        for (const auto& left : {sum.untouched(), over.untouched(), narrow.untouched(), wide.untouched(),
                                 same.untouched(), nothing.untouched(), scaled.untouched()})
          CHECK(left);
      }
  });
}

TEST_CASE("copies of one type keep every bit, also of what is no number") {
  grid<bf16> odd(1, 16);
  // infinity and NaNs
  for (isize c = 0; c < 16; ++c) odd.at(0, c).bits = static_cast<std::uint16_t>(0x7f80 + 3 * c);
  const laws::on_gpu<bf16> from(odd), to(1, 16);
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    copy(ctx, {1, 1, nullptr}, from.all(), to.all());
  });
  const auto found = to.back();
  for (isize c = 0; c < 16; ++c) CHECK(found.at(0, c).bits == odd.at(0, c).bits);
}

}  // namespace motet
