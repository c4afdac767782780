// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/context.hpp>

#include "cuda_run.hpp"

#include <doctest/doctest.h>

namespace motet {
namespace {

TEST_CASE("a dry run files FLOPs and bytes under the innermost section, takes memory and needs no GPU") {
  motet::cuda::profile costs;
  motet::cuda::context ctx;
  ctx.costs = &costs;
  REQUIRE(ctx.measuring());
  {
    const auto outer = enter(ctx, "outer");
    ctx.note("some", 10, 1);
    {
      const auto inner = enter(ctx, "inner");
      ctx.note("some", 5, 2);
    }
    ctx.note("some", 1, 4);
  }
  CHECK(costs.at(costs.inside(-1, "outer")).flops == 11);
  CHECK(costs.at(costs.inside(-1, "outer")).bytes == 5);
  CHECK(costs.at(costs.inside(costs.inside(-1, "outer"), "inner")).flops == 5);
  CHECK(ctx.section == -1);
  const isize mark = ctx.memory.mark();
  ctx.memory.take<float>(100);
  release(ctx, mark);
  CHECK(ctx.memory.mark() == mark);
  CHECK(ctx.memory.peak() == 448);
  {
    const motet::cuda::scratch_scope scope(ctx);
    ctx.scratch.take<double>(1);
  }
  CHECK(ctx.scratch.mark() == 0);
  CHECK(ctx.scratch.peak() == 64);
  CHECK(number_of(ctx, {}) == 0);
  synchronize(ctx);
}

TEST_CASE("a run notes nothing, and takes what was planned") {
  int runs = 0;
  const auto noted = laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
    ++runs;
    ctx.note("some", 3, 4);
    CHECK(ctx.measuring() == (runs == 1));
    ctx.memory.take<float>(10);
    if (runs == 2) CHECK(ctx.stream() == laws::gpu().stream());
  });
  CHECK(runs == 2);
  CHECK(noted.flops() == 3);
  CHECK_THROWS_WITH(laws::gpu_run_foretold(
                        [](motet::cuda::context& ctx) { ctx.memory.take<float>(ctx.measuring() ? 1 : 100); }),
                    doctest::Contains("[MT-T"));
}

TEST_CASE("gradients go where a sink says, and it hears of them") {
  struct told {
    float other[4];
    const void* seen = nullptr;
    isize count = 0;
  } here;
  float mine[4];
  motet::cuda::context ctx;
  ctx.sink.self = &here;
  ctx.sink.told = [](void* self, const void* data, isize count) {
    static_cast<told*>(self)->seen = data;
    static_cast<told*>(self)->count += count;
  };
  ctx.sink.where = [](void* self, const void*, isize) -> void* { return static_cast<told*>(self)->other; };
  // Nothing is told while measuring.
  gradients_ready(ctx, mine, 4);
  CHECK(here.count == 0);
  CHECK(gradients_at(ctx, mine, 4) == mine);
  std::byte room[64];
  ctx.memory = arena(room, 64);
  gradients_ready(ctx, mine, 0);
  CHECK(here.count == 0);
  gradients_ready(ctx, mine, 4);
  CHECK(here.count == 4);
  CHECK(here.seen == mine);
  CHECK(gradients_at(ctx, mine, 4) == here.other);
  CHECK(gradients_at(ctx, mine, 0) == mine);
}

}  // namespace
}  // namespace motet
