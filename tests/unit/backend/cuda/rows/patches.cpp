// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/patches.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/patches.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"
#include "laws/packed_shots.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("patches on a GPU are those of the CPU", T, float, bf16, double) {
  std::uint64_t seed = 1;
  for (const isize patch : {1, 3, 4, 8, 14})
    for (const isize lead : {0, 1})
      for (const isize gap : {0, 3, 8}) {
        const patch_geometry geometry{patch == 4 ? 1 : 3, 2 * patch, patch, lead};
        const isize each = 4 + lead, width = geometry.channels * patch * patch,
                    offsets[] = {0, each, each, 2 * each};
        for (const sequences& seq :
             {sequences{0, each, nullptr}, sequences{3, each, nullptr}, sequences{3, 1, offsets}}) {
          const auto pixels =
              grid<float>(seq.samples, geometry.channels * geometry.side * geometry.side, gap).random(++seed);
          const laws::on_gpu<float> from(pixels);
          // Further columns are zero.
          const isize columns = seed % 2 == 0 ? width : round_up(width + 1, 8);
          const laws::on_gpu<T> y(seq.rows(), columns, columns + gap);
          laws::gpu_run_foretold(
              [&](motet::cuda::context& ctx) { patches(ctx, seq, geometry, from.all(), y.all()); });
          grid<T> want(seq.rows(), columns);
          want.fill(0);
          laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
            patches(ctx, seq, geometry, pixels.view(), want.view().columns(0, width));
          });
          CAPTURE(patch);
          CHECK(distance(y.back(), want) == 0);
          CHECK(y.untouched());
        }
      }
}

TEST_CASE_TEMPLATE("packed pictures become what the loader makes of them", T, float, bf16, double) {
  std::uint64_t seed = 100;
  for (const isize patch : {3, 8, 14})
    for (const isize lead : {0, 2})
      for (const isize skipped : {0, 3}) {
        const isize side = 2 * patch;
        const laws::packed_shots shots(side, laws::packed_shots::boxes(side), ++seed);
        const auto samples = static_cast<isize>(shots.each.size()) - skipped;
        const patch_geometry geometry{3, side, patch, lead};
        const sequences seq{samples, lead + 4, nullptr};
        const laws::flat_on_gpu<std::uint8_t> bytes(shots.bytes);
        const laws::flat_on_gpu<packed_picture> each(shots.each);
        packed_pictures from = shots.at(bytes.data(), each.data());
        from.each += skipped;
        const isize width = 3 * patch * patch;
        grid<T> want(seq.rows(), seed % 2 == 0 ? width : round_up(width + 1, 8));
        want.fill(0);
        laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
          patches(ctx, seq, geometry, shots.planes.view().slice(skipped, samples),
                  want.view().columns(0, width));
        });
        const laws::on_gpu<T> y(seq.rows(), want.width, want.width + 8);
        laws::gpu_run_foretold(
            [&](motet::cuda::context& ctx) { patches(ctx, seq, geometry, from, y.all()); });
        CHECK(distance(y.back(), want) < (sizeof(T) == 2 ? 1e-2 : 2e-6));
        CHECK(y.untouched());
      }
}

}  // namespace motet
