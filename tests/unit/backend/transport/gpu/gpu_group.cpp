// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/groups/any_group.hpp>
#include <motet/backend/transport/gpu/gpu_group.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>

#include <doctest/doctest.h>

#include <cuda_run.hpp>

#include "deviation.hpp"

using namespace motet;

// One thread calls for both members, and asks instead of waiting.
TEST_CASE("calls on what stages see of a group are the group's, whatever numbers they add") {
  shared_gpu::world all(2, 0, {});
  shared_gpu::endpoint one(all, 0), other(all, 1);
  const std::vector<std::vector<std::int32_t>> both = {{0, 1}};
  shared_gpu::group_set set(all, both);
  shared_gpu::group first(set, 0, one), second(set, 0, other);
  transports::gpu_group &a = first, &b = second;
  CHECK(a.size() == 2);
  CHECK(b.member() == 1);
  CHECK(&b.end() == &other);
  CHECK(a.keep(nullptr, 0) == nullptr);
  const auto add = [&]<class T>(T one_half) {
    const laws::flat_on_gpu<T> mine({one_half, T(2)}), theirs({one_half, T(3)});
    const ticket from = a.all_reduce_sum(mine.data(), 2), to = b.all_reduce_sum(theirs.data(), 2);
    CHECK(a.test(from));
    CHECK(b.test(to));
    a.see();
    b.see();
    one.end_step();
    other.end_step();
    CHECK(laws::off_by(mine.back(), std::vector<T>{T(1), T(5)}) == 0);
    CHECK(laws::off_by(theirs.back(), std::vector<T>{T(1), T(5)}) == 0);
  };
  add(0.5f);
  add(0.5);
  add(bf16(0.5f));
  const any_group seen(b);
  CHECK(seen.size() == 2);
  CHECK(seen.member() == 1);
}
