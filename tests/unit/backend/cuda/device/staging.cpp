// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/device/staging.hpp>

#include "laws/cuda_run.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace motet;
using idx = motet::isize;

namespace {

struct add_rows {
  const int* from;
  int* to;
  idx count;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (idx i = self.number(); i < count; i += self.all()) to[i] += from[i];
  }
};

}  // namespace

TEST_CASE("a step sees what was brought for it, and what comes next waits until it was read") {
  constexpr idx count = 5000;
  const laws::gpu_room room(0, 0);
  motet::cuda::context ctx = room.context();
  const laws::flat_on_gpu<int> input(count), sum(std::vector<int>(count, 0));
  std::vector<int> host(count), expected(count, 0);
  motet::cuda::pinned_buffer<int> pinned(count);
  for (int step = 0; step < 12; ++step) {
    const bool by_pinned = step % 3 == 2;
    if (by_pinned) ctx.on->finish();  // pinned memory may change then only
    for (idx i = 0; i < count; ++i) {
      const int value = static_cast<int>(i) * 7 + step * step;
      (by_pinned ? pinned[i] : host[static_cast<std::size_t>(i)]) = value;
      expected[static_cast<std::size_t>(i)] += value;
    }
    bring(ctx, by_pinned ? pinned.data() : host.data(), input.data(), count);
    std::fill(host.begin(), host.end(), -1);  // it may change at once
    brought(ctx);
    motet::cuda::launch(ctx.stream(), {2, 64, 0}, add_rows{input.data(), sum.data(), count});
    used(ctx);
  }
  ctx.on->finish();
  CHECK(laws::off_by(sum.back(), expected) == 0);
}

TEST_CASE("more than a piece, in pieces") {
  constexpr idx count = (std::size_t(11) << 20) / sizeof(int) + 3;
  const laws::gpu_room room(0, 0);
  motet::cuda::context ctx = room.context();
  const laws::flat_on_gpu<int> there(count + 1);
  std::vector<int> host(count);
  std::iota(host.begin(), host.end(), 5);
  bring(ctx, host.data(), there.data(), count);
  bring(ctx, host.data(), there.data() + count, idx(0));
  brought(ctx);
  ctx.on->finish();
  std::vector<int> found = there.back();
  CHECK(found.back() == -1);
  found.pop_back();
  CHECK(found == host);
}

TEST_CASE("many in a row: a piece is filled again when it has left") {
  constexpr idx count = 100, times = 11;
  const laws::gpu_room room(0, 0);
  motet::cuda::context ctx = room.context();
  const laws::flat_on_gpu<int> there(count * times);
  std::vector<int> host(count), expected;
  for (idx i = 0; i < times; ++i) {
    std::fill(host.begin(), host.end(), static_cast<int>(i));
    expected.insert(expected.end(), host.begin(), host.end());
    bring(ctx, host.data(), there.data() + i * count, count);
  }
  brought(ctx);
  ctx.on->finish();
  CHECK(laws::off_by(there.back(), expected) == 0);
}

TEST_CASE("memory of others may be pinned for a while") {
  constexpr idx count = 3000;
  const laws::gpu_room room(0, 0);
  motet::cuda::context ctx = room.context();
  const laws::flat_on_gpu<int> there(count);
  std::vector<int> host(count);
  std::iota(host.begin(), host.end(), 9);
  {
    const motet::cuda::pinned_memory pinned(host.data(), host.size() * sizeof(int));
    CHECK(pinned.pinned());
    // Twice cannot be, and does no harm.
    CHECK_FALSE(motet::cuda::pinned_memory(host.data(), host.size() * sizeof(int)).pinned());
    bring(ctx, host.data(), there.data(), count);
    brought(ctx);
  }
  std::vector<int> expected = host;
  std::fill(host.begin(), host.end(), 0);
  ctx.on->finish();
  CHECK(laws::off_by(there.back(), expected) == 0);
}

TEST_CASE("a dry run brings nothing") {
  motet::cuda::context ctx;
  int number = 0;
  bring(ctx, &number, &number, 1);
  brought(ctx);
  used(ctx);
  CHECK(ctx.memory.peak() == 0);
}
