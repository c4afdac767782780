// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/patches.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/patches.hpp>
#include <motet/data/resize.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"

namespace motet {
using laws::grid, laws::distance, laws::tolerance;

TEST_CASE_TEMPLATE("patches on a GPU are those of the CPU", T, float, bf16, double) {
  std::uint64_t seed = 1;
  for (const index patch : {1, 3, 4, 8, 14})
    for (const index lead : {0, 1})
      for (const index gap : {0, 3, 8}) {
        const patch_geometry geometry{patch == 4 ? 1 : 3, 2 * patch, patch, lead};
        const index each = 4 + lead, width = geometry.channels * patch * patch, offsets[] = {0, each, each, 2 * each};
        for (const sequences& seq : {sequences{0, each, nullptr}, sequences{3, each, nullptr}, sequences{3, 1, offsets}}) {
          const auto pixels = grid<float>(seq.samples, geometry.channels * geometry.side * geometry.side, gap).random(++seed);
          const laws::on_gpu<float> from(pixels);
          const laws::on_gpu<T> y(seq.rows(), width, width + gap);
          laws::gpu_run_planned([&](motet::cuda::context& ctx) { patches(ctx, seq, geometry, from.all(), y.all()); });
          grid<T> want(seq.rows(), width);
          laws::cpu_run_planned(1, [&](cpu::context& ctx) { patches(ctx, seq, geometry, pixels.view(), want.view()); });
          CAPTURE(patch);
          CHECK(distance(y.back(), want) == 0);
          CHECK(y.untouched());
        }
      }
}

TEST_CASE_TEMPLATE("bytes are cut, mirrored and normalised as the loader does it", T, float, bf16) {
  std::uint64_t seed = 100;
  for (const index patch : {3, 8, 14})
    for (const bool cut : {false, true}) {
      const index side = 2 * patch, height = side + 5, width = side + 2, samples = 3;
      const patch_geometry geometry{3, side, patch, 1};
      const random_stream draw(++seed, "bytes");
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(samples * height * width * 3));
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(draw.below(i, 256));
      const std::vector<motet::cuda::picture_cut> cuts{{0, 0, 1}, {2, 5, 0}, {1, 3, 1}};
      const laws::flat_on_gpu<std::uint8_t> on_gpu(bytes);
      const laws::flat_on_gpu<motet::cuda::picture_cut> cuts_on_gpu(cuts);
      motet::cuda::picture_bytes from;
      from.pixels = on_gpu.data();
      from.height = height;
      from.width = width;
      if (cut) from.cuts = cuts_on_gpu.data();
      resampler::colours colours;
      for (int c = 0; c < 3; ++c) {
        colours.mean[c] = from.mean[c] = 0.4f + 0.05f * static_cast<float>(c);
        colours.deviation[c] = from.deviation[c] = 0.2f + 0.03f * static_cast<float>(c);
      }
      // On the CPU: the loader's planes, then patches.
      grid<float> planes(samples, 3 * side * side);
      resampler resize;
      for (index s = 0; s < samples; ++s) {
        bitmap shot{width, height, {}};
        shot.pixels.assign(bytes.begin() + s * height * width * 3, bytes.begin() + (s + 1) * height * width * 3);
        const auto& place = cuts[static_cast<std::size_t>(s)];
        const crop_box box =
            cut ? crop_box{place.x, place.y, side, side, place.flip != 0} : crop_box{(width - side) / 2, (height - side) / 2, side, side, false};
        resize(shot, box, side, colours, planes.view().row(s));
      }
      const sequences seq{samples, 5, nullptr};
      grid<T> want(seq.rows(), 3 * patch * patch);
      laws::cpu_run_planned(1, [&](cpu::context& ctx) { patches(ctx, seq, geometry, planes.view(), want.view()); });
      const laws::on_gpu<T> y(seq.rows(), want.width, want.width + 8);
      laws::gpu_run_planned([&](motet::cuda::context& ctx) { patches(ctx, seq, geometry, from, y.all()); });
      CHECK(distance(y.back(), want) < (sizeof(T) == 2 ? 1e-2 : 1e-6));
      CHECK(y.untouched());
    }
}

}  // namespace motet
