// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/windows.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/windows.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("windows on a GPU are those of the CPU", T, float, bf16, double) {
  std::uint64_t seed = 1;
  for (const isize samples : {0, 3})
    for (const isize length : {1, 5, 8})
      for (const isize stride : {1, 2})
        for (const isize width : {3, 8})
          for (const isize more : {0, 8}) {
            const row_windows windows{length, stride};
            const isize columns = round_up(3 * width, 8) + more;
            const auto x = grid<float>(samples * length, width).random(++seed);
            const auto dy = grid<T>(samples * windows.rows(), 3 * width).random(++seed);
            grid<T> y(samples * windows.rows(), columns), dx(samples * length, width);
            const laws::on_gpu<float> gx(x);
            const laws::on_gpu<T> gy(y), gdy(dy), gdx(dx);
            const sequences made{samples, windows.rows(), nullptr}, of{samples, length, nullptr};
            laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
              windows_forward(ctx, made, windows, gx.all(), gy.all());
              windows_backward(ctx, of, windows, gdy.all(), gdx.all());
            });
            laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
              windows_forward(ctx, made, windows, x.view(), y.view());
              windows_backward(ctx, of, windows, dy.view(), dx.view());
            });
            CHECK(distance(gy.back(), y) == 0);
            CHECK(distance(gdx.back(), dx) < tolerance<T>);
            CHECK(gy.untouched());
            CHECK(gdx.untouched());
          }
}

}  // namespace motet
