// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/core/make_threads.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <system_error>

using motet::make_threads;

namespace {

const auto never = [] { CHECK(false); };

TEST_CASE("as many threads as wanted, each with its number") {
  for (const int all : {0, 1, 2, 5}) {
    std::vector<std::thread> threads;
    std::atomic<int> sum{0};
    make_threads(
        threads, "all", 1, all, [&](int t) { return std::thread([&sum, t] { sum += t; }); }, never);
    for (std::thread& each : threads) each.join();
    CHECK(sum == (all > 0 ? all * (all - 1) / 2 : 0));
  }
}

TEST_CASE("where one is refused, those before it are let go and joined, and the error counts them") {
  std::vector<std::thread> threads;
  std::atomic<bool> end{false};
  std::atomic<int> ended{0};
  const auto begin = [&](int t) {
    if (t == 3) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    return std::thread([&] {
      while (!end) std::this_thread::yield();
      ++ended;
    });
  };
  CHECK_THROWS_WITH_AS(make_threads(threads, "threads of a test", 1, 9, begin, [&] { end = true; }),
                       doctest::Contains("threads of a test: wanted 9, got 3 ("), motet::error);
  CHECK(ended == 2);
  CHECK(threads.empty());
}

}  // namespace
