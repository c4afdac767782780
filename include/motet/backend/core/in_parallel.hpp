// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace motet {

// Calls work(i) once for each i below `count`, on at most so many threads (0: as many as there are
// processors), of which the caller is one; where the system grants fewer, those do all. When all have ended,
// the first failure is thrown; after a failure nothing more is begun.
template <class Work>
void in_parallel(isize count, Work&& work, isize most_threads = 0) {
  if (most_threads <= 0) most_threads = static_cast<isize>(std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<isize> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto go = [&] {
    for (isize i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::thread> others;
  try {
    for (isize t = 1; t < std::min(count, most_threads); ++t) others.emplace_back(go);
  } catch (const std::exception&) {  // fewer take longer, and that is all
  }
  go();
  for (std::thread& each : others) each.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace motet
