// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cpu/context.hpp>
#include <motet/backend/cpu/transfer.hpp>
#include <motet/backend/cuda/transfer.hpp>
#include <motet/runtime/held_memory.hpp>

#include <doctest/doctest.h>

#include "cpu_run.hpp"
#include "cuda_run.hpp"

using namespace motet;

static_assert(works_on_host<cpu::context>);
static_assert(!works_on_host<cuda::context>);

TEST_CASE("an arena of a buffer has its bytes, and none of no bytes measures") {
  const buffer<std::byte> some(256), none;
  arena all = arena_of(some);
  CHECK(all.take<std::byte>(256) == some.data());
  CHECK_THROWS_AS(all.take<std::byte>(1), error);
  arena empty = arena_of(none);
  CHECK_FALSE(empty.measuring());
  CHECK_NOTHROW(empty.take<std::byte>(0));
  CHECK_THROWS_AS(empty.take<std::byte>(1), error);
}

TEST_CASE("numbers of the host are put where operations work, and one is read from there") {
  const auto fill = [](float* to) {
    for (int i = 0; i < 5; ++i) to[i] = 1.5f * static_cast<float>(i);
  };
  {
    cpu::context ctx;
    std::byte room[64];
    ctx.memory = ctx.scratch = arena(room, sizeof room);
    buffer<float> there(5);
    float* given = nullptr;
    fill_from_host(ctx, there.data(), 5, [&](float* to) { fill(given = to); });
    CHECK(given == there.data());  // in place
    CHECK(number_at(ctx, there.data() + 3) == 4.5f);
  }
  const laws::gpu_room room(64, 64);
  cuda::context ctx = room.context();
  const buffer_for<cuda::context, float> there(5);
  fill_from_host(ctx, there.data(), 5, fill);
  CHECK(number_at(ctx, there.data() + 3) == 4.5f);
  CHECK(number_at(ctx, there.data()) == 0);
}
