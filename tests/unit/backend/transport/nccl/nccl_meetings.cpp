// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/transport/nccl/nccl_meetings.hpp>

#include <doctest/doctest.h>

#include "nccl_ranks.hpp"

namespace laws = motet::laws;
namespace nccl = motet::nccl;
using motet::byte_range;

// nccl.cpp tests what meetings of several ranks bring.

TEST_CASE("who meets alone hears itself") {
  laws::run_nccl_ranks(1, [](nccl::session& here) {
    motet::cuda::engine on;
    const std::vector<std::vector<std::int32_t>> of{{0}, {0}};
    nccl::meetings all(here, of);
    const double own = 3;
    double heard = 0;
    CHECK(all.gather(0, 0, reinterpret_cast<const std::byte*>(&own), sizeof own,
                     reinterpret_cast<std::byte*>(&heard)));
    CHECK(heard == 3);
    const std::vector<std::byte> text(100, std::byte{7});
    const laws::gpu_bytes from(text), to(100);
    const byte_range whole[] = {{0, 100}};
    CHECK(all.exchange(1, 0, from.data(), whole, to.data(), whole, on.stream()));
    CHECK(to.back(on) == text);
    CHECK(all.over());
  });
}

TEST_CASE("who wants another number of bytes than there are is told") {
  if (!laws::has_gpus(2)) return;
  const std::vector<std::vector<std::int32_t>> of{{0, 1}};
  const auto run = [&] {
    laws::run_nccl_ranks(2, [&](nccl::session& here) {
      motet::cuda::engine on;
      nccl::meetings all(here, of);
      const std::int32_t me = here.everyone().rank();
      const laws::gpu_bytes from(16), to(64);
      const byte_range out[] = {{0, 8}, {8, 8}};
      const auto fetch = [&](motet::isize bytes) {
        return all.fetch(0, me, from.data(), out, 1 - me, to.data(), bytes, on.stream());
      };
      while (!fetch(me == 0 ? 8 : 9)) std::this_thread::yield();
      on.finish();
    });
  };
  CHECK_THROWS_WITH_AS(run(), doctest::Contains("member 0 brings 8 bytes, 9 were wanted"), motet::error);
}
