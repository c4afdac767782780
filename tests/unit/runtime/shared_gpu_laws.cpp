// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/operations.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>
#include <motet/runtime/feeds/feed_exchange.hpp>
#include <motet/runtime/gradients/gradient_ring.hpp>

#include <doctest/doctest.h>

#include <feed_laws.hpp>
#include <mutex>
#include <optional>
#include <reduction_laws.hpp>
#include <shared_gpu_ranks.hpp>

// Sums of gradients and feeds between ranks that share a GPU keep the laws that hold on the CPU.

using namespace motet;

namespace {

// Calls rank(endpoint) on a thread for each; returns what the first of them throws.
template <class Rank>
std::string run_ranks(shared_gpu::world& world, Rank rank) {
  std::mutex mutex;
  std::string first;
  std::vector<std::thread> threads;
  for (std::int32_t r = 0; r < world.ranks(); ++r)
    threads.emplace_back([&, r] {
      try {
        shared_gpu::endpoint end(world, r);
        rank(end);
      } catch (const shared_gpu::world::stopped&) {
      } catch (const std::exception& problem) {
        const std::lock_guard lock(mutex);
        if (first.empty()) first = problem.what();
        world.stop();
      }
    });
  for (std::thread& each : threads) each.join();
  return first;
}

void check_sums(std::uint64_t seed, bool ring) {
  const laws::made_ranks ranks{1 + static_cast<std::int32_t>(seed % 3),
                               1 + static_cast<std::int32_t>(seed / 3 % 2)};
  shared_gpu::world world(ranks.size(), 0, {});
  const auto lists = ranks.groups();
  shared_gpu::group_set set(world, lists);
  std::atomic<int> wrong{0};
  CHECK(run_ranks(world, [&](shared_gpu::endpoint& end) {
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

template <class T>
void check_feed(const laws::feed_problem& problem) {
  const std::int32_t ranks = problem.ranks();
  shared_gpu::world world(ranks, problem.edge.tags(), {});
  auto lists = problem.groups();
  const auto everyone = static_cast<std::int32_t>(lists.size());
  lists.push_back(laws::from_to(0, ranks));
  shared_gpu::group_set set(world, lists);
  std::mutex mutex;
  std::string wrong;
  CHECK(run_ranks(world, [&](shared_gpu::endpoint& end) {
          shared_gpu::group step_end(set, everyone, end);
          std::optional<shared_gpu::group> groups[2];
          any_group tensor[2];
          for (int side = 0; side < 2; ++side)
            if (const std::int32_t number = problem.group(side == 0, end.rank()); number >= 0) {
              groups[side].emplace(set, number, end);
              tensor[side] = any_group(*groups[side]);
            }
          laws::feed_rank<T, shared_gpu::endpoint, laws::shared_gpu_site> player(problem, end, 0, tensor[0],
                                                                                 tensor[1]);
          for (std::size_t step = 0; step < problem.steps.size(); ++step) {
            end.begin_step();
            const std::string found = player.step(step);
            end.end_step();
            step_end.wait(step_end.barrier());
            const std::lock_guard lock(mutex);
            if (wrong.empty()) wrong = found;
          }
        }) == "");
  CHECK(wrong == "");
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

TEST_CASE("feeds between any degrees") {
  for (unsigned seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    check_feed<float>(laws::drawn_feed(seed, 3));
    check_feed<bf16>(laws::drawn_feed(100 + seed, 3));
  }
}
