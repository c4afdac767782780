// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/backend/cpu/device/context.hpp>

#include <cstdio>

namespace {

using motet::isize;
namespace cpu = motet::cpu;

TEST_CASE("shares of columns cover them once, in whole grains") {
  for (const int threads : {1, 2, 3, 7})
    for (const isize count : {0, 1, 15, 16, 17, 384, 1000}) {
      isize next = 0;
      for (int t = 0; t < threads; ++t) {
        cpu::context ctx;
        ctx.thread = t;
        ctx.threads = threads;
        const motet::interval own = ctx.own(count);
        CHECK(own.begin == next);
        CHECK((own.end == count || own.end % 16 == 0));
        next = own.end;
      }
      CHECK(next == count);
    }
}

TEST_CASE(
    "a dry run files FLOPs and bytes under the innermost section, and takes memory without having any") {
  cpu::profile costs;
  cpu::context ctx;
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
  CHECK(costs.flops() == 16);
  CHECK(costs.path(costs.at(costs.inside(costs.inside(-1, "outer"), "inner"))) == "outer / inner");
  const isize mark = ctx.memory.mark();
  ctx.memory.take<float>(100);
  release(ctx, mark);
  CHECK(ctx.memory.mark() == mark);
  CHECK(ctx.memory.peak() == 448);
}

TEST_CASE("a real run files time, each moment once, and notes no work") {
  cpu::profile costs;
  std::byte room[64];
  cpu::context ctx;
  ctx.memory = motet::arena(room, 64);
  ctx.costs = &costs;
  const auto before = std::chrono::steady_clock::now();
  {
    const auto outer = enter(ctx, "outer");
    ctx.note("some", 10, 1);
    const auto inner = enter(ctx, "inner");
    while (std::chrono::steady_clock::now() - before < std::chrono::milliseconds(2)) {
    }
  }
  const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  CHECK(costs.at(costs.inside(costs.inside(-1, "outer"), "inner")).seconds > 0.0015);
  CHECK(costs.at(costs.inside(costs.inside(-1, "outer"), "inner")).seconds +
            costs.at(costs.inside(-1, "outer")).seconds <=
        all);
  CHECK(costs.flops() == 0);
}

TEST_CASE("a profile that is full files the rest under its last name instead of failing") {
  static char names[cpu::profile::capacity + 4][8];
  cpu::profile costs;
  for (int i = 0; i < cpu::profile::capacity + 4; ++i) {
    std::snprintf(names[i], sizeof names[i], "s%d", i);
    costs.at(costs.inside(-1, names[i])).flops += 1;
  }
  CHECK(costs.end() - costs.begin() == cpu::profile::capacity);
  CHECK(costs.flops() == cpu::profile::capacity + 4);
}

TEST_CASE("scratch goes back at the end of its scope") {
  std::byte room[256];
  cpu::context ctx;
  ctx.scratch = motet::arena(room, 256);
  for (int i = 0; i < 3; ++i) {
    const cpu::scratch_scope scope(ctx);
    CHECK(static_cast<void*>(ctx.scratch.take<char>(200)) == static_cast<void*>(room));
  }
  CHECK(ctx.scratch.mark() == 0);
}

}  // namespace
