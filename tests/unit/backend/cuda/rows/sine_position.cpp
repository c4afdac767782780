// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/sine_position.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/sine_position.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("sine positions on a GPU are those of the CPU", T, float, bf16, double) {
  std::uint64_t seed = 1;
  for (const isize lead : {0, 1})
    for (const isize width : {4, 16, 48, 64, 96, 20})
      for (const isize gap : {0, 3}) {
        const patch_geometry geometry{3, 12, 4, lead};
        const isize each = 9 + lead, offsets[] = {0, each, each, 2 * each};
        for (const sequences& seq :
             {sequences{0, each, nullptr}, sequences{3, each, nullptr}, sequences{3, 1, offsets}}) {
          auto x = grid<T>(seq.rows(), width, gap).random(++seed);
          const laws::on_gpu<T> gx(x);
          laws::gpu_run_foretold(
              [&](motet::cuda::context& ctx) { sine_position_forward(ctx, seq, geometry, gx.all()); });
          laws::cpu_run_foretold(
              1, [&](cpu::context& ctx) { sine_position_forward(ctx, seq, geometry, x.view()); });
          CHECK(distance(gx.back(), x) < tolerance<T>);
          CHECK(gx.untouched());
        }
      }
}

TEST_CASE_TEMPLATE("places in time on a GPU are those of the CPU", T, float, bf16, double) {
  std::uint64_t seed = 1;
  for (const isize width : {4, 48, 22}) {
    const isize offsets[] = {0, 5, 5, 9};
    for (const sequences& seq :
         {sequences{0, 4, nullptr}, sequences{3, 4, nullptr}, sequences{3, 1, offsets}}) {
      auto x = grid<T>(seq.rows(), width, 3).random(++seed);
      const laws::on_gpu<T> gx(x);
      laws::gpu_run_foretold([&](motet::cuda::context& ctx) { time_position_forward(ctx, seq, gx.all()); });
      laws::cpu_run_foretold(1, [&](cpu::context& ctx) { time_position_forward(ctx, seq, x.view()); });
      CHECK(distance(gx.back(), x) < tolerance<T>);
      CHECK(gx.untouched());
    }
  }
}

}  // namespace motet
