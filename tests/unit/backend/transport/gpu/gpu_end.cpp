// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/groups/stream_lanes.hpp>
#include <motet/backend/transport/gpu/gpu_end.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu.hpp>

#include <doctest/doctest.h>

#include <cuda_run.hpp>

#include "deviation.hpp"

#include <array>

using namespace motet;

static_assert(stream_lanes<transports::gpu_end>);

namespace {

const std::vector<std::vector<std::int32_t>> both = {{0, 1}};

}  // namespace

TEST_CASE("what stages see of two ends are the ranks, their messages and their meetings") {
  shared_gpu::world all(2, 2, both);
  shared_gpu::endpoint one(all, 0), other(all, 1);
  transports::gpu_end &a = one, &b = other;
  CHECK(a.rank() == 0);
  CHECK(b.rank() == 1);
  CHECK(b.ranks() == 2);
  CHECK(a.keep(true, nullptr, 0).empty());
  CHECK_FALSE(a.brings_all());

  cuda::context ctx;
  a.prepare(ctx);
  CHECK(ctx.on == &a.on());
  CHECK(ctx.on == &a.lanes().of(0));
  ctx.draws.step = 7;
  a.begin(ctx);
  one.begin_step();
  other.begin_step();

  const auto bytes_of = [](const laws::flat_on_gpu<int>& of) {
    return reinterpret_cast<std::byte*>(of.data());
  };
  const laws::flat_on_gpu<int> from({3, 4}), to({0, 0}), ahead({0, 0});
  CHECK_FALSE(b.receive(0, 0, bytes_of(to), 8));
  for (const std::int32_t tag : {0, 1}) a.send(tag, 1, bytes_of(from), 8);
  CHECK_FALSE(a.sent(0));
  CHECK(b.receive(0, 0, bytes_of(to), 8));
  CHECK(b.receive_ahead(1, 0, bytes_of(ahead), 8));
  CHECK(a.sent(0));
  b.await(bytes_of(ahead));
  b.freed(bytes_of(ahead));
  b.follow_freed(bytes_of(ahead));
  std::array<int, 2> own = {1, 2}, found = {};
  const auto part = [](int& of) { return reinterpret_cast<std::byte*>(&of); };
  CHECK_FALSE(a.gather(0, 0, part(own[0]), 4, part(found[0])));
  CHECK(b.gather(0, 1, part(own[1]), 4, part(found[0])));
  CHECK(found == own);
  CHECK(a.gather(0, 0, part(own[0]), 4, part(found[0])));
  other.end_step();
  one.end_step();
  CHECK(laws::off_by(to.back(), std::vector<int>{3, 4}) == 0);
  CHECK(laws::off_by(ahead.back(), std::vector<int>{3, 4}) == 0);
}
