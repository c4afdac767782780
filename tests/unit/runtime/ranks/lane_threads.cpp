// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/ranks/lane_threads.hpp>

#include <doctest/doctest.h>

#include <atomic>

using namespace motet;

TEST_CASE("each lane plays once in each run, all at once, the first on the thread that asks") {
  for (const int lanes : {1, 2, 4}) {
    CAPTURE(lanes);
    lane_threads all(lanes);
    std::atomic<int> played[4] = {}, inside{0}, apart{0};
    for (int run = 1; run <= 50; ++run) {
      const auto asks = std::this_thread::get_id();
      all.run([&](int lane) {
        ++played[lane];
        ++inside;
        while (inside < run * lanes) std::this_thread::yield();
        if ((std::this_thread::get_id() == asks) != (lane == 0)) ++apart;
      });
      for (int lane = 0; lane < lanes; ++lane) CHECK(played[lane] == run);
    }
    CHECK(apart == 0);
  }
}
