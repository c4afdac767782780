// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/kernels/normal_draws.hpp>

#include "../../../../laws/each_kernel.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

TEST_CASE("numbers from anywhere in a stream are its normals as floats, whatever the kernel") {
  const random_stream draws(7, "normals");
  laws::with_each_kernel([&] {
    for (const std::uint64_t first : {0u, 1u, 6u, 33u})
      for (const motet::isize count : {0, 1, 7, 64}) {
        std::vector<float> got(as_size(count) + 1, -77.0f);
        MOTET_SIMD_DISPATCH(, draw_normals(draws, first, count, 2.0f, got.data()));
        for (motet::isize i = 0; i < count; ++i)
          CHECK(got[as_size(i)] ==
                2 * static_cast<float>(draws.normal(first + static_cast<std::uint64_t>(i))));
        CHECK(got.back() == -77.0f);
      }
  });
}
