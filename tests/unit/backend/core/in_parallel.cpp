// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/core/in_parallel.hpp>

#include <doctest/doctest.h>

#include "laws/refused_threads.hpp"

#include <stdexcept>

using motet::in_parallel;

TEST_CASE("everything is done once") {
  for (const motet::isize count : {0, 1, 2, 100})
    for (const motet::isize most : {0, 1, 3}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
      in_parallel(
          count, [&](motet::isize i) { ++done[static_cast<std::size_t>(i)]; }, most);
      for (const auto& each : done) CHECK(each == 1);
    }
}

TEST_CASE("threads work at once") {
  std::atomic<int> here{0};
  in_parallel(
      2,
      [&](motet::isize) {
        ++here;
        while (here < 2) std::this_thread::yield();
      },
      2);
  CHECK(here == 2);
}

TEST_CASE("where the system grants no thread, the caller does everything") {
  const motet::laws::refused_threads none;
  motet::isize done = 0;
  in_parallel(
      100, [&](motet::isize) { ++done; }, 3);
  CHECK(done == 100);
}

TEST_CASE("a failure is the caller's, and ends the work") {
  std::atomic<int> begun{0};
  CHECK_THROWS_WITH_AS(in_parallel(
                           1000,
                           [&](motet::isize) {
                             ++begun;
                             throw std::runtime_error("broken");
                           },
                           3),
                       "broken", std::runtime_error);
  CHECK(begun <= 3);
}
