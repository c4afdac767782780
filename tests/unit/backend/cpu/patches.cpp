// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/patches.hpp>

#include "../../../laws/cpu_run.hpp"
#include "../../../laws/op_cases.hpp"

namespace motet {
using laws::cpu_run_planned, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("patches are cut in the order of a convolution's weight", Y, float, bf16, double) {
  laws::with_each_kernel([] {
    for (int threads = 1; threads <= 3; ++threads)
      for (const index lead : {0, 1, 2})
        for (const index samples : {0, 1, 4})
          for (const index patch : {1, 4, 5, 16}) {
            const index channels = 3, across = 3, side = across * patch, width = channels * patch * patch;
            const sequences seq{samples, lead + across * across, nullptr};
            const auto pixels = grid<float>(samples, channels * side * side, 3).random(1);
            grid<Y> y(seq.rows(), width, 2);
            cpu_run_planned(threads, [&](cpu::context& ctx) {
              patches(ctx, seq, patch_geometry{channels, side, patch, lead}, pixels.view(), y.view());
            });
            grid<Y> want(seq.rows(), width);
            for (index s = 0; s < samples; ++s)
              for (index p = 0; p < seq.length; ++p)
                for (index c = 0; c < width; ++c) {
                  const index channel = c / (patch * patch), line = c / patch % patch, column = c % patch;
                  const index down = (p - lead) / across * patch + line, right = (p - lead) % across * patch + column;
                  want.at(seq.begin(s) + p, c) = p < lead ? Y(0.0f) : Y(pixels.at(s, (channel * side + down) * side + right));
                }
            CHECK(distance(y, want) == 0);
            CHECK(y.gaps_intact());
          }
  });
}

}  // namespace motet
