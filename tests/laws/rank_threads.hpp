// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/exchange/exchanged_pieces.hpp>

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

// Ranks as threads. What they do comes without its type: a compiler takes longer for a thread than for most
// of what begins one.
namespace motet::laws {

inline void start_and_join(std::int32_t count, work_ref<std::int32_t> work) {
  std::vector<std::thread> threads;
  for (std::int32_t r = 0; r < count; ++r) threads.emplace_back([work, r] { work(r); });
  for (std::thread& each : threads) each.join();
}
// Calls work(r) on a thread of its own for each r below `count`.
template <class Work>
void each_on_a_thread(std::int32_t count, Work&& work) {
  start_and_join(count, work_ref<std::int32_t>(work));
}

template <class World>
std::exception_ptr first_thrown(World& world, work_ref<std::int32_t> rank) {
  std::mutex mutex;
  std::exception_ptr first;
  each_on_a_thread(world.ranks(), [&](std::int32_t r) {
    try {
      rank(r);
    } catch (const typename World::stopped&) {
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
      world.stop();
    }
  });
  return first;
}
// Calls rank(r) on a thread for each rank of a world. What one throws stops the others and comes out here.
template <class World, class Rank>
void run_ranks(World& world, Rank&& rank) {
  if (const auto thrown = first_thrown(world, work_ref<std::int32_t>(rank))) std::rethrow_exception(thrown);
}
// The same; the text of what one throws is the result.
template <class World, class Rank>
std::string thrown_by_ranks(World& world, Rank&& rank) {
  try {
    run_ranks(world, rank);
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace motet::laws
