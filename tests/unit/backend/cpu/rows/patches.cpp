// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/patches.hpp>

#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/op_cases.hpp"
#include "../../../../laws/packed_shots.hpp"

namespace motet {
using laws::cpu_run_foretold, laws::each_batch, laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("patches are cut in the order of a convolution's weight", Y, float, bf16, double) {
  laws::with_each_kernel([] {
    for (int threads = 1; threads <= 3; ++threads)
      for (const isize lead : {0, 1, 2})
        for (const isize samples : {0, 1, 4})
          for (const isize patch : {1, 4, 5, 16}) {
            const isize channels = 3, across = 3, side = across * patch, width = channels * patch * patch;
            const sequences seq{samples, lead + across * across, nullptr};
            const auto pixels = grid<float>(samples, channels * side * side, 3).random(1);
            grid<Y> y(seq.rows(), width, 2);
            cpu_run_foretold(threads, [&](cpu::context& ctx) {
              patches(ctx, seq, patch_geometry{channels, side, patch, lead}, pixels.view(), y.view());
            });
            grid<Y> want(seq.rows(), width);
            for (isize s = 0; s < samples; ++s)
              for (isize p = 0; p < seq.length; ++p)
                for (isize c = 0; c < width; ++c) {
                  const isize channel = c / (patch * patch), line = c / patch % patch, column = c % patch;
                  const isize down = (p - lead) / across * patch + line,
                              right = (p - lead) % across * patch + column;
                  want.at(seq.begin(s) + p, c) =
                      p < lead ? Y(0.0f) : Y(pixels.at(s, (channel * side + down) * side + right));
                }
            CHECK(distance(y, want) == 0);
            CHECK(y.gaps_intact());
          }
  });
}

TEST_CASE_TEMPLATE("packed pictures become what the loader makes of them", Y, float, bf16, double) {
  std::uint64_t seed = 1;
  for (const isize patch : {3, 8, 14})
    for (const isize lead : {0, 1})
      for (int threads = 1; threads <= 3; threads += 2) {
        const isize side = 2 * patch;
        const laws::packed_shots shots(side, laws::packed_shots::boxes(side), ++seed);
        const auto samples = static_cast<isize>(shots.each.size());
        // Both forms are there.
        CHECK(shots.each[0].pitch > 0);
        CHECK(shots.each[7].pitch == 0);
        const patch_geometry geometry{3, side, patch, lead};
        const sequences seq{samples, lead + 4, nullptr};
        grid<Y> want(seq.rows(), 3 * patch * patch), y(seq.rows(), 3 * patch * patch, 2);
        cpu_run_foretold(
            1, [&](cpu::context& ctx) { patches(ctx, seq, geometry, shots.planes.view(), want.view()); });
        cpu_run_foretold(threads,
                         [&](cpu::context& ctx) { patches(ctx, seq, geometry, shots.here(), y.view()); });
        CHECK(distance(y, want) < (sizeof(Y) == 2 ? 1e-2 : 2e-6));
        CHECK(y.gaps_intact());
        // A slice has the same origin.
        const sequences rest{samples - 2, lead + 4, nullptr};
        packed_pictures last = shots.here();
        last.each += 2;
        grid<Y> tail(rest.rows(), 3 * patch * patch);
        cpu_run_foretold(threads,
                         [&](cpu::context& ctx) { patches(ctx, rest, geometry, last, tail.view()); });
        for (isize r = 0; r < rest.rows(); ++r)
          for (isize c = 0; c < tail.width; ++c) REQUIRE(tail.at(r, c) == y.at(r + 2 * seq.length, c));
      }
}

}  // namespace motet
