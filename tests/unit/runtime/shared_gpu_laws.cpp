// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/operations.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>
#include <motet/runtime/gradients/gradient_ring.hpp>

#include <doctest/doctest.h>

#include <rank_threads.hpp>
#include <reduction_laws.hpp>
#include <shared_gpu_ranks.hpp>

// Sums of gradients between ranks that share a GPU keep the laws that hold on the CPU.

using namespace motet;

namespace {

void check_sums(std::uint64_t seed, bool ring) {
  const laws::made_ranks ranks{1 + static_cast<std::int32_t>(seed % 3),
                               1 + static_cast<std::int32_t>(seed / 3 % 2)};
  shared_gpu::world world(ranks.size(), 0, {});
  const auto lists = ranks.groups();
  shared_gpu::group_set set(world, lists);
  std::atomic<int> wrong{0};
  CHECK(laws::thrown_by_ranks(world, [&](std::int32_t r) {
          shared_gpu::endpoint end(world, r);
          laws::shared_gpu_site site(end);
          shared_gpu::group cut(set, end.rank() % ranks.tensor, end), shared(set, ranks.tensor, end);
          shared_gpu::group *const one = ranks.replicas > 1 ? &cut : nullptr, *const other = ranks.size() > 1
                                                                                                 ? &shared
                                                                                                 : nullptr;
          if (ring)
            wrong += laws::check_ring(site, ranks, end.rank(), one, other, end, seed,
                                      1 + static_cast<std::int32_t>(seed % 3));
          else wrong += laws::check_reduction(site, ranks, end.rank(), one, other, end, seed, seed % 2 == 0);
        }) == "");
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("sums of gradients in buckets") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    check_sums(seed, false);
  }
}

TEST_CASE("sums of gradients that exist for a few layers at a time") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    check_sums(seed, true);
  }
}
