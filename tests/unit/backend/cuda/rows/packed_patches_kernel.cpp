// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/rows/patches.hpp>

#include <doctest/doctest.h>
#include <motet/backend/cpu/rows/patches.hpp>
#include <motet/tensor/random.hpp>

#include "laws/cpu_run.hpp"
#include "laws/cuda_run.hpp"

// No loader of ours makes these: other channels, bytes that do not lie at multiples of 16, samples without
// rows; and sizes that need several turns.
namespace motet {
using laws::grid, laws::distance;

namespace {

struct some_pictures {
  std::vector<std::uint8_t> bytes;
  std::vector<packed_picture> each;

  some_pictures(isize channels, isize multiple, const std::vector<std::pair<int, int>>& sizes,
                std::uint64_t seed) {
    const random_stream draw(seed, "bytes");
    isize at = 0;
    for (const auto& [width, height] : sizes) {
      const isize pitch = round_up(width * channels + (multiple == 1 ? 1 : 0), multiple);
      each.push_back({1000 * multiple + at, static_cast<std::int32_t>(pitch), width, height,
                      static_cast<std::int32_t>(each.size() % 2)});
      at += pitch * height;
    }
    for (isize i = 0; i < at; ++i)
      bytes.push_back(static_cast<std::uint8_t>(draw.below(static_cast<std::uint64_t>(i), 256)));
  }
};

void compare(const some_pictures& from, const patch_geometry& geometry, const sequences& seq) {
  packed_pictures here{from.bytes.data(), from.each.data(), from.each.data(), {}, {}};
  for (int c = 0; c < 4; ++c) {
    here.factor[c] = 0.02f - 0.001f * static_cast<float>(c);
    here.shift[c] = static_cast<float>(c) - 2;
  }
  const laws::flat_on_gpu<std::uint8_t> bytes(from.bytes);
  const laws::flat_on_gpu<packed_picture> each(from.each);
  packed_pictures there = here;
  there.bytes = bytes.data();
  there.each = there.origin = each.data();
  const isize width = geometry.channels * geometry.patch * geometry.patch;
  grid<float> want(seq.rows(), width);
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) { patches(ctx, seq, geometry, here, want.view()); });
  const laws::on_gpu<float> y(seq.rows(), width, width + 1);
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) { patches(ctx, seq, geometry, there, y.all()); });
  CHECK(distance(y.back(), want) < 2e-6);
  CHECK(y.untouched());
}

}  // namespace

TEST_CASE("any number of channels, any alignment") {
  std::uint64_t seed = 1;
  for (const isize channels : {1, 2, 3, 4})
    for (const isize multiple : {1, 8, 16})
      compare({channels, multiple, {{11, 9}, {5, 23}, {16, 16}}, ++seed}, {channels, 10, 5, 1},
              {3, 5, nullptr});
}

TEST_CASE("samples without rows have none") {
  const isize offsets[] = {0, 5, 5, 10};
  compare({3, 16, {{11, 9}, {5, 23}, {16, 16}}, 50}, {3, 10, 5, 1}, {3, 1, offsets});
}

TEST_CASE("more pixels in a row than threads, more lines than memory has room for") {
  compare({3, 16, {{300, 270}, {290, 511}}, 60}, {3, 288, 144, 0}, {2, 4, nullptr});
  compare({3, 16, {{500, 10}, {1, 500}}, 61}, {3, 32, 32, 0}, {2, 1, nullptr});
}

}  // namespace motet
