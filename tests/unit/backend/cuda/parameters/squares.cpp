// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/parameters/squares.hpp>

#include <doctest/doctest.h>

#include <cuda_run.hpp>
#include <motet/backend/cuda/parameters/optimizer.hpp>

namespace motet {
using laws::flat_on_gpu, laws::gpu_run_foretold;

namespace {

template <class T>
std::vector<T> numbers_of_any(isize count, std::uint64_t seed) {
  const auto from = laws::grid<T>(1, count).random(seed);
  return {from.data.begin(), from.data.begin() + count};
}

}  // namespace

TEST_CASE_TEMPLATE("zero and the sum of squares of a part of a flat buffer on a GPU", T, float, double) {
  for (const isize count : {0, 1, 3, 15, 16, 100, 4099, 40000})
    for (const isize first : {0, 1, 3}) {
      const auto x = numbers_of_any<T>(count + 8, 1);
      const flat_on_gpu<T> on(x);
      double want = 0, got = -1, again = -1, after = -1;
      for (isize i = first; i < first + count; ++i)
        want += static_cast<double>(x[static_cast<std::size_t>(i)]) *
                static_cast<double>(x[static_cast<std::size_t>(i)]);
      const auto noted = gpu_run_foretold([&](motet::cuda::context& ctx) {
        const auto one = sum_of_squares(ctx, on.data() + first, count),
                   two = sum_of_squares(ctx, on.data() + first, count);
        zero(ctx, on.data() + first, count);
        const auto three = sum_of_squares(ctx, on.data() + first, count);
        if (ctx.measuring()) return;
        got = number_of(ctx, one);
        again = number_of(ctx, two);
        after = number_of(ctx, three);
      });
      CHECK(laws::off_by(got, want) <= 1e-12 * (1 + want));
      CHECK(again == got);
      CHECK(after == 0);
      CHECK(noted.flops() == 6 * static_cast<double>(count));
      const auto left = on.back();
      for (std::size_t i = 0; i < left.size(); ++i) {
        const bool inside = static_cast<isize>(i) >= first && static_cast<isize>(i) < first + count;
        CHECK(left[i] == (inside ? T(0) : x[i]));
      }
    }
}

}  // namespace motet
