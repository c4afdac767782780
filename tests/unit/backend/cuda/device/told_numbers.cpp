// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/told_numbers.hpp>

#include <doctest/doctest.h>

#include <cuda_run.hpp>

namespace motet {

TEST_CASE("sums come to the host as they were when they were asked for") {
  const laws::flat_on_gpu<double> on{2.5, -1e300, 7};
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    if (ctx.measuring()) {
      CHECK(numbers_of(ctx, begin_numbers(ctx, motet::cuda::real{}, motet::cuda::real{})).first == 0);
      return;
    }
    for (int turn = 0; turn < 3; ++turn) {
      const motet::cuda::real first(*ctx.on, on.data() + turn % 2), second(*ctx.on, on.data() + 1);
      const auto coming = begin_numbers(ctx, first, second);
      const auto found = numbers_of(ctx, coming);
      CHECK(found.first == (turn % 2 == 0 ? 2.5 : -1e300));
      CHECK(found.second == -1e300);
    }
    // Work that comes later on the stream does not count; a sum of nothing is zero.
    const motet::cuda::real first(*ctx.on, on.data());
    const auto coming = begin_numbers(ctx, first, motet::cuda::real{});
    const motet::cuda::real add(*ctx.on, on.data() + 2);
    motet::cuda::real(first) += add;
    const auto found = numbers_of(ctx, coming);
    CHECK(found.first == 2.5);
    CHECK(found.second == 0);
  });
  CHECK(on.back()[0] == 9.5);
}

TEST_CASE("who watches waits is called until they are there") {
  const laws::flat_on_gpu<double> on{4};
  int calls = 0;
  laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    if (ctx.measuring()) return;
    ctx.on->watch_waits([&] { ++calls; });
    const motet::cuda::real first(*ctx.on, on.data());
    const auto coming = begin_numbers(ctx, first, first);
    CHECK(numbers_of(ctx, coming).second == 4);
    ctx.on->watch_waits([&]() -> void { throw 5; });
    begin_numbers(ctx, first, first);
    bool thrown = false;
    try {
      for (int i = 0; i < 100 && !thrown; ++i) numbers_of(ctx, begin_numbers(ctx, first, first));
    } catch (int) {
      thrown = true;
    }
    ctx.on->watch_waits({});
    CHECK(numbers_of(ctx, coming).first == 4);
  });
}

}  // namespace motet
