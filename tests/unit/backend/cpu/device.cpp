// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/device.hpp>

#include <doctest/doctest.h>

#include <atomic>

using namespace motet;
using idx = motet::isize;

TEST_CASE("a dry run counts what a run takes, on the thread that needs most") {
  cpu::device device(3);
  const auto work = [](cpu::context& ctx) {
    ctx.note("some", 10, 20);
    const idx mark = ctx.memory.mark();
    float* shared = ctx.memory.take<float>(1000);
    if (!ctx.measuring()) shared[ctx.thread] = 1;
    release(ctx, mark);
    const cpu::scratch_scope scope(ctx);
    ctx.scratch.take<float>(100 * (ctx.thread + 1));
  };
  const cpu::step_forecast needs = device.dry_run(work);
  CHECK(needs.memory == 4032);
  CHECK(needs.scratch == 1216);
  CHECK(needs.costs.flops() == 10);
  CHECK(device.flops(work) == 10);
  device.prepare(needs);
  CHECK_NOTHROW(device.run(work));
  // A larger function finds no room.
  CHECK_THROWS_WITH_AS(device.run([](cpu::context& ctx) { ctx.memory.take<float>(2000); }),
                       doctest::Contains("MT-T01"), error);
}

TEST_CASE("an unprepared device refuses to hand out memory") {
  cpu::device device(1);
  CHECK_THROWS_AS(device.run([](cpu::context& ctx) { ctx.memory.take<float>(1); }), error);
}

TEST_CASE("every thread runs once, with its own number") {
  cpu::device device(4);
  CHECK(device.threads() == 4);
  std::atomic<int> seen{0};
  device.run([&](cpu::context& ctx) {
    CHECK(ctx.threads == 4);
    seen.fetch_add(1 << (8 * ctx.thread));
  });
  CHECK(seen.load() == 0x01010101);
  CHECK(device.describe().find("4 threads") != std::string::npos);
}

TEST_CASE("time is filed under sections") {
  cpu::device device(1);
  device.run([](cpu::context& ctx) {
    const auto part = enter(ctx, "busy");
    const auto from = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - from < std::chrono::milliseconds(5)) {
    }
  });
  double busy = 0;
  for (const auto& each : device.costs())
    if (std::string_view(each.name) == "busy") busy = each.seconds;
  CHECK(busy >= 0.005);
  device.clear_costs();
  CHECK(device.costs().begin() == device.costs().end());
}
