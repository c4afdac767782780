// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/local/local_group.hpp>

#include <mutex>
#include <reduction_laws.hpp>
#include <thread>

namespace motet::laws {

// Calls rank(endpoint, cut group, shared group) on a thread for each rank; returns what the first of them
// throws.
template <class Rank>
std::string run_reduction(const made_ranks& ranks, std::int32_t in_flight, Rank rank) {
  local::world world(ranks.size(), 0, {});
  const auto lists = ranks.groups();
  local::group_set set(world, lists, {.in_flight = in_flight});
  std::mutex mutex;
  std::string first;
  std::vector<std::thread> threads;
  for (std::int32_t r = 0; r < ranks.size(); ++r)
    threads.emplace_back([&, r] {
      try {
        local::endpoint end(world, r);
        local::group cut(set, r % ranks.tensor, end), shared(set, ranks.tensor, end);
        rank(end, ranks.replicas > 1 ? &cut : nullptr, ranks.size() > 1 ? &shared : nullptr);
      } catch (const local::world::stopped&) {
      } catch (const std::exception& problem) {
        const std::lock_guard lock(mutex);
        if (first.empty()) first = problem.what();
        world.stop();
      }
    });
  for (std::thread& each : threads) each.join();
  return first;
}

}  // namespace motet::laws
