// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/kernels/transfer.hpp>
#include <motet/backend/cuda/kernels/transfer.hpp>
#include <motet/runtime/state/held_memory.hpp>

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

TEST_CASE("one number is read from where operations work") {
  const std::vector<float> numbers{0, 1.5f, 3, 4.5f, 6};
  cpu::context here;
  std::byte bytes[64];
  here.memory = here.scratch = arena(bytes, sizeof bytes);
  CHECK(number_at(here, numbers.data() + 3) == 4.5f);
  const laws::gpu_room room(64, 64);
  cuda::context ctx = room.context();
  const laws::flat_on_gpu<float> there(numbers);
  CHECK(number_at(ctx, static_cast<const float*>(there.data()) + 3) == 4.5f);
  CHECK(number_at(ctx, static_cast<const float*>(there.data())) == 0);
}
