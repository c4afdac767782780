// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/windows.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("windows are three neighbours of a sample, and gradients their sums", Y, float, bf16,
                   double) {
  for (int threads = 1; threads <= 3; ++threads)
    for (const isize samples : {0, 1, 4})
      for (const isize length : {1, 2, 5})
        for (const isize stride : {1, 2})
          for (const isize more : {0, 2}) {
            const row_windows windows{length, stride};
            const isize width = 3, rows = windows.rows();
            CHECK(rows == (length + stride - 1) / stride);
            const auto x = grid<float>(samples * length, width, 3).random(1);
            grid<Y> y(samples * rows, 3 * width + more, 2);
            cpu_run_foretold(threads, [&](cpu::context& ctx) {
              windows_forward(ctx, {samples, rows, nullptr}, windows, x.view(), y.view());
            });
            const auto dy = grid<Y>(samples * rows, 3 * width, 1).random(2);
            grid<Y> dx(samples * length, width, 2);
            cpu_run_foretold(threads, [&](cpu::context& ctx) {
              windows_backward(ctx, {samples, length, nullptr}, windows, dy.view(), dx.view());
            });
            grid<Y> want(samples * rows, 3 * width + more);
            grid<double> d_want(samples * length, width);
            want.fill(0);
            d_want.fill(0);
            for (isize s = 0; s < samples; ++s)
              for (isize t = 0; t < rows; ++t)
                for (isize c = 0; c < width; ++c)
                  for (isize k = 0; k < 3; ++k)
                    if (const isize at = t * stride + k - 1; at >= 0 && at < length) {
                      want.at(s * rows + t, 3 * c + k) = Y(x.at(s * length + at, c));
                      d_want.at(s * length + at, c) += dy(s * rows + t, 3 * c + k);
                    }
            CHECK(distance(y, want) == 0);
            CHECK(distance(dx, d_want) < tolerance<Y>);
            CHECK(y.gaps_intact());
            CHECK(dx.gaps_intact());
          }
}

}  // namespace motet
